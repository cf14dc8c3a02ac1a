#include "describe.h"

#include <algorithm>
#include <map>
#include <set>

#include "display.h"
#include "flags.h"

namespace linformer::cli {
namespace {

constexpr size_t labels_shown = 10;
constexpr int text_width = 90;

const char* name_of(ProjectionKind kind) {
  switch (kind) {
    case ProjectionKind::linear:
      return "linear";
    case ProjectionKind::convolution:
      return "convolution";
    case ProjectionKind::mean_pool:
      return "mean pool";
    case ProjectionKind::max_pool:
      return "max pool";
    case ProjectionKind::none:
      return "none (full attention)";
  }
  return "?";
}

const char* name_of(PositionKind kind) {
  switch (kind) {
    case PositionKind::none:
      return "none";
    case PositionKind::learned:
      return "learned";
    case PositionKind::sinusoidal_halves:
    case PositionKind::sinusoidal_interleaved:
      return "sinusoidal";
  }
  return "?";
}

const char* name_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::first_token:
      return "first token";
    case Pooling::mean:
      return "mean";
    case Pooling::mean_over_max_tokens:
      return "mean over max tokens";
    case Pooling::max:
      return "max";
    case Pooling::none:
      return "none (each token)";
  }
  return "?";
}

const char* name_of(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::none:
      return "none";
    case TokenizerKind::byte_bpe:
      return "byte-level BPE";
    case TokenizerKind::wordpiece:
      return "WordPiece";
    case TokenizerKind::unigram:
      return "unigram";
  }
  return "?";
}

uint64_t elements(const TensorDescription& tensor) {
  uint64_t product = 1;
  for (const uint64_t extent : tensor.shape) product *= extent;  // validated when the model was loaded
  return product;
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text;
  for (const uint64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text.empty() ? "1" : text;
}

// Values that differ between layers as "3072" or "1024 to 3072".
template <class Value>
std::string across_layers(const EncoderDescription& encoder, Value value) {
  std::set<uint64_t> values;
  for (const LayerDescription& layer : encoder.layers) values.insert(value(layer));
  if (values.empty()) return "-";
  const std::string least = std::to_string(*values.begin());
  return values.size() == 1 ? least : least + " to " + std::to_string(*values.rbegin());
}

uint64_t ffn_width(const Model& model, const LayerDescription& layer) {
  if (!layer.ffn_in.present()) return 0;
  return model.description().tensors[static_cast<size_t>(layer.ffn_in.weight)].shape[0];
}

// One projection, wherever it is listed again.
using ProjectionKey = std::tuple<ProjectionKind, uint32_t, TensorIndex, TensorIndex>;
ProjectionKey key_of(const EncoderDescription& encoder, uint32_t index) {
  const Projection& projection = encoder.projections[index];
  return {projection.kind, projection.k, projection.weight, projection.bias};
}

// What the projections have in common, in the words of the paper's section 4.
struct Sharing {
  bool heads = true, key_value = true, layers = true;
  size_t distinct = 0;
};

Sharing sharing_of(const EncoderDescription& encoder) {
  Sharing sharing;
  std::set<ProjectionKey> all;
  std::set<ProjectionKey> first_layer;
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    const AttentionDescription& attention = encoder.layers[i].attention;
    std::set<ProjectionKey> keys, values;
    for (const uint32_t p : attention.key_projections) keys.insert(key_of(encoder, p));
    for (const uint32_t p : attention.value_projections) values.insert(key_of(encoder, p));
    sharing.heads = sharing.heads && keys.size() <= 1 && values.size() <= 1;
    sharing.key_value = sharing.key_value && keys == values;
    keys.insert(values.begin(), values.end());
    if (i == 0) first_layer = keys;
    sharing.layers = sharing.layers && keys == first_layer;
    all.insert(keys.begin(), keys.end());
  }
  sharing.distinct = all.size();
  return sharing;
}

std::string projection_text(const EncoderDescription& encoder) {
  if (encoder.projections.empty()) return "none (full attention)";
  std::set<std::string> kinds;
  for (const Projection& p : encoder.projections) {
    std::string kind = name_of(p.kind);
    if (p.kind != ProjectionKind::none) {
      kind += ", k = " + std::to_string(p.k) + (p.order == ProjectionOrder::before_linear ? ", before" : ", after") +
              " the key and value linears" + (p.bias != absent ? ", with bias" : "");
    }
    kinds.insert(kind);
  }
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : "; ") + kind;
  return text;
}

std::string sharing_text(const EncoderDescription& encoder) {
  const Sharing sharing = sharing_of(encoder);
  std::string shared = sharing.heads ? "heads" : "";
  if (sharing.key_value) shared += (shared.empty() ? "" : ", ") + std::string("keys and values");
  if (sharing.layers) shared += (shared.empty() ? "" : ", ") + std::string("layers");
  return std::to_string(sharing.distinct) + (sharing.distinct == 1 ? " projection" : " projections") +
         (shared.empty() ? ", nothing shared" : ", shared by " + shared);
}

std::string labels_text(const std::vector<std::string>& labels) {
  std::string text;
  for (size_t i = 0; i < std::min(labels.size(), labels_shown); ++i) text += (i ? ", " : "") + labels[i];
  if (labels.size() > labels_shown) text += ", ... (" + std::to_string(labels.size()) + ")";
  return text;
}

std::string weights_text(const ModelDescription& description) {
  std::map<ElementType, uint64_t> counts;
  uint64_t total = 0;
  for (const TensorDescription& tensor : description.tensors) {
    counts[tensor.type] += elements(tensor);
    total += elements(tensor);
  }
  std::string text = grouped(total) + " in " + std::to_string(description.tensors.size()) + " tensors";
  for (const auto& [type, count] : counts) text += ", " + grouped(count) + " " + linformer::name_of(type);
  return text;
}

std::string tokenizer_text(const TokenizerDescription& tokenizer) {
  if (tokenizer.kind == TokenizerKind::none) return "none (linformer-convert --tokenizer DIR adds one)";
  std::string text = name_of(tokenizer.kind);
  if (tokenizer.token_offsets.size() > 1) text += ", " + grouped(tokenizer.token_offsets.size() - 1) + " tokens";
  if (!tokenizer.merges.empty()) text += ", " + grouped(tokenizer.merges.size() / 3) + " merges";
  if (!tokenizer.added_tokens.empty()) text += ", " + grouped(tokenizer.added_tokens.size()) + " added";
  if (tokenizer.lowercase) text += ", lower case";
  if (tokenizer.strip_accents) text += ", without accents";
  return text;
}

}  // namespace

std::string describe_text(const Model& model, const std::string& path) {
  const ModelDescription& d = model.description();
  const EncoderDescription& e = d.encoder;
  Table table({"", ""}, {false, false});
  const auto line = [&](const std::string& name, const std::string& value) {
    table.add({name, excerpt(value, text_width)});
  };
  line("file", path);
  line("size", byte_size(model.file_bytes()) + " (" + grouped(model.file_bytes()) + " bytes)");
  line("producer", d.producer);
  line("dialect", d.dialect);
  line("parameters", weights_text(d));
  line("max tokens", std::to_string(e.max_tokens));
  line("vocabulary", grouped(e.vocab_size) + (e.pad_id < 0 ? ", no pad" : ", pad id " + std::to_string(e.pad_id)));
  line("layers", std::to_string(e.layers.size()) + ", d_model " + std::to_string(e.d_model) + ", " +
                     (e.norm_placement == NormPlacement::pre ? "pre-norm" : "post-norm") +
                     (e.final_norm.present() ? ", final norm" : "") +
                     (e.residual == ResidualKind::reversible ? ", reversible" : ""));
  line("attention",
       across_layers(e, [](const LayerDescription& l) { return l.attention.heads; }) + " heads of " +
           across_layers(e, [](const LayerDescription& l) { return l.attention.head_dim; }) +
           (std::any_of(e.layers.begin(), e.layers.end(), [](const auto& l) { return l.attention.causal; }) ? ", causal"
                                                                                                            : ""));
  line("projection", projection_text(e));
  line("sharing", sharing_text(e));
  if (!e.layers.empty()) {
    line("feed-forward", across_layers(e, [&](const LayerDescription& l) { return ffn_width(model, l); }) + ", " +
                             linformer::name_of(e.layers[0].activation));
  }
  line("positions",
       std::string(name_of(e.embedding.position_kind)) +
           (e.embedding.position_offset > 0 ? ", offset " + std::to_string(e.embedding.position_offset) : "") +
           (e.embedding.norm.present() ? "; embedding norm" : "") +
           (e.embedding.factor.present() ? "; factorised embedding" : ""));
  line("masked-LM", !d.mlm.present()                            ? "no head"
                    : d.mlm.output.weight == e.embedding.tokens ? "head, tied to the embedding"
                                                                : "head");
  for (size_t i = 0; i < d.heads.size(); ++i) {
    const ClassificationHead& head = d.heads[i];
    const std::vector<std::string> labels = class_labels(model, static_cast<int>(i));
    line("head " + std::to_string(i), excerpt(head.name, 40) + ": " + std::to_string(labels.size()) + " classes (" +
                                          (head.labels.empty() ? "not named" : labels_text(labels)) + "), pooling " +
                                          name_of(head.pooling) + (head.multi_label ? ", several labels a text" : ""));
  }
  if (d.heads.empty()) line("heads", "no classification head");
  line("tokenizer", tokenizer_text(d.tokenizer));
  return table.text();
}

nlohmann::ordered_json describe_json(const Model& model, const std::string& path) {
  const ModelDescription& d = model.description();
  const EncoderDescription& e = d.encoder;
  const Sharing sharing = sharing_of(e);
  uint64_t parameters = 0;
  for (const TensorDescription& tensor : d.tensors) parameters += elements(tensor);

  nlohmann::ordered_json json;
  json["file"] = path;
  json["file_bytes"] = model.file_bytes();
  json["producer"] = d.producer;
  json["dialect"] = d.dialect;
  json["parameters"] = parameters;
  json["tensor_count"] = d.tensors.size();
  json["max_tokens"] = e.max_tokens;
  json["vocab_size"] = e.vocab_size;
  json["pad_id"] = e.pad_id < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(e.pad_id);
  json["d_model"] = e.d_model;
  json["norm"] = e.norm_placement == NormPlacement::pre ? "pre" : "post";
  json["positions"] = name_of(e.embedding.position_kind);
  json["sharing"] = {{"distinct_projections", sharing.distinct},
                     {"heads", sharing.heads},
                     {"keys_and_values", sharing.key_value},
                     {"layers", sharing.layers}};
  auto& projections = json["projections"] = nlohmann::ordered_json::array();
  for (const Projection& p : e.projections) {
    projections.push_back({{"kind", name_of(p.kind)},
                           {"k", p.k},
                           {"order", p.order == ProjectionOrder::before_linear ? "before_linear" : "after_linear"},
                           {"bias", p.bias != absent}});
  }
  auto& layers = json["layers"] = nlohmann::ordered_json::array();
  for (const LayerDescription& layer : e.layers) {
    layers.push_back({{"heads", layer.attention.heads},
                      {"head_dim", layer.attention.head_dim},
                      {"ffn", ffn_width(model, layer)},
                      {"activation", linformer::name_of(layer.activation)},
                      {"key_projections", layer.attention.key_projections},
                      {"value_projections", layer.attention.value_projections}});
  }
  json["masked_lm"] = d.mlm.present();
  auto& heads = json["heads"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < d.heads.size(); ++i) {
    heads.push_back({{"name", d.heads[i].name},
                     {"pooling", name_of(d.heads[i].pooling)},
                     {"multi_label", d.heads[i].multi_label},
                     {"labels", class_labels(model, static_cast<int>(i))}});
  }
  if (d.tokenizer.kind == TokenizerKind::none) {
    json["tokenizer"] = nullptr;
  } else {
    json["tokenizer"] = {{"kind", name_of(d.tokenizer.kind)},
                         {"tokens", d.tokenizer.token_offsets.empty() ? 0 : d.tokenizer.token_offsets.size() - 1},
                         {"merges", d.tokenizer.merges.size() / 3},
                         {"added_tokens", d.tokenizer.added_tokens.size()},
                         {"single_template", d.tokenizer.single_template},
                         {"pair_template", d.tokenizer.pair_template}};
  }
  return json;
}

std::string tensors_text(const Model& model) {
  Table table({"tensor", "type", "layout", "shape", "bytes", "offset"}, {false, false, false, false, true, true});
  for (const TensorDescription& tensor : model.description().tensors) {
    table.add({excerpt(tensor.name, text_width), linformer::name_of(tensor.type),
               tensor.layout == TensorLayout::panel16 ? "panel16" : "row_major", shape_text(tensor.shape),
               grouped(tensor.bytes), grouped(tensor.offset)});
  }
  return table.text();
}

nlohmann::ordered_json tensors_json(const Model& model) {
  auto json = nlohmann::ordered_json::array();
  for (const TensorDescription& tensor : model.description().tensors) {
    char checksum[17];
    std::snprintf(checksum, sizeof checksum, "%016llx", static_cast<unsigned long long>(tensor.checksum));
    json.push_back({{"name", tensor.name},
                    {"type", linformer::name_of(tensor.type)},
                    {"layout", tensor.layout == TensorLayout::panel16 ? "panel16" : "row_major"},
                    {"shape", tensor.shape},
                    {"bytes", tensor.bytes},
                    {"offset", tensor.offset},
                    {"xxh3", checksum}});
  }
  return json;
}

std::string plan_text(const Plan& plan) {
  const SessionOptions& options = plan.options;
  std::string text = "A session for n = " + std::to_string(options.max_tokens) +
                     " tokens, b = " + std::to_string(options.max_batch) +
                     " texts, rows = " + std::to_string(options.max_rows) +
                     " tokens together,\nthreads = " + std::to_string(options.threads) +
                     ", block = " + std::to_string(plan.block_rows) + " rows, " + linformer::name_of(options.backend) +
                     " on " + linformer::name_of(options.isa) + ":\n";
  Table table({"buffer", "formula (bytes)", "bytes"}, {false, false, true});
  for (int i = 0; i < plan.buffer_count; ++i) {
    table.add({plan.buffers[i].name, plan.buffers[i].formula, grouped(plan.buffers[i].bytes)});
  }
  table.add({"total", "", grouped(plan.total_bytes)});
  return text + table.text(2) + "  = " + byte_size(plan.total_bytes) + " beside the model file's mapping\n";
}

nlohmann::ordered_json plan_json(const Plan& plan) {
  const SessionOptions& options = plan.options;
  nlohmann::ordered_json json = {{"max_tokens", options.max_tokens},
                                 {"max_batch", options.max_batch},
                                 {"max_rows", options.max_rows},
                                 {"threads", options.threads},
                                 {"backend", linformer::name_of(options.backend)},
                                 {"isa", linformer::name_of(options.isa)},
                                 {"block_rows", plan.block_rows},
                                 {"project_first_below", plan.project_first_below},
                                 {"total_bytes", plan.total_bytes}};
  auto& buffers = json["buffers"] = nlohmann::ordered_json::array();
  for (int i = 0; i < plan.buffer_count; ++i) {
    const PlannedBuffer& buffer = plan.buffers[i];
    buffers.push_back(
        {{"name", buffer.name}, {"formula", buffer.formula}, {"offset", buffer.offset}, {"bytes", buffer.bytes}});
  }
  return json;
}

}  // namespace linformer::cli
