#include "converter/dialects/fairseq/fairseq.h"

#include <algorithm>
#include <optional>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/fairseq/names.h"
#include "converter/dialects/fairseq/settings.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/tensor_table.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace fairseq;

constexpr uint32_t pad = 1;  // fairseq's dictionaries begin with <s>, <pad>, </s>, <unk>

// The state of one conversion, which its steps share.
class FairseqConverter {
 public:
  explicit FairseqConverter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(settings_of(conversion)),
        weights_(conversion.weights),
        model_(conversion.description),
        encoder_(model_.encoder),
        report_(conversion.report),
        projections_(encoder_, weights_, ProjectionOrder::before_linear) {
    for (const Tensor& tensor : conversion.checkpoint.tensors) {
      old_names_ = old_names_ || tensor.name.find(".emb_layer_norm.") != tensor.name.npos;
    }
  }

  void run() {
    refuse_unsupported(settings_);
    read_sizes();
    add_embedding();
    for (uint32_t i = 0; i < layer_count_; ++i) add_layer(i);
    add_final_norm();
    add_masked_lm();
    add_heads();
    report_sharing();
    tensors_.report_or_reject_unused(unused_names(), "a fairseq Linformer", report_);
  }

 private:
  static std::string layer_prefix(uint32_t layer) { return encoder + "layers." + std::to_string(layer) + "."; }
  Size d_model() const { return {encoder_.d_model, "d_model"}; }

  void read_sizes();
  void add_embedding();
  void add_layer(uint32_t index);
  void add_attention_inputs(uint32_t index, AttentionDescription* attention);
  void add_projections(uint32_t index, AttentionDescription* attention);
  const Tensor* projection_tensor(uint32_t layer, const char* own);
  Norm norm(const std::string& role, const std::string& name) {
    return read_norm(conversion_, tensors_, role, name, d_model());
  }
  Linear linear(const std::string& role, const std::string& name, Size out, Size in) {
    return read_linear(conversion_, tensors_, role, name, out, in);
  }
  void add_final_norm();
  void add_masked_lm();
  void add_heads();
  void add_head(const std::string& name);
  void report_sharing();

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  WeightWriter& weights_;
  ModelDescription& model_;
  EncoderDescription& encoder_;
  Report& report_;
  ProjectionTable projections_;
  bool old_names_ = false;  // If true, the file was written before 2021-02-16, with the name emb_layer_norm.
  uint32_t layer_count_ = 0, heads_ = 0;
  Activation activation_ = Activation::gelu;
};

void FairseqConverter::read_sizes() {
  const Tensor* tokens = tensors_.find(encoder + "embed_tokens.weight");
  // safetensors keeps only one name of two tied tensors.
  if (tokens == nullptr) tokens = tensors_.find(lm_head + "weight");
  if (tokens == nullptr)
    fail("the tensor ", quote(encoder + "embed_tokens.weight"), " is missing: the checkpoint is incomplete");
  encoder_.vocab_size = dimension(*tokens, 0);
  encoder_.d_model = dimension(*tokens, 1);
  if (encoder_.vocab_size <= pad)
    fail("the tensor ", quote(tokens->name), " is ", shape_text(*tokens), ": it has no row for <pad>");
  layer_count_ = count_modules(tensors_, encoder + "layers.");
  const Tensor* projection = projection_tensor(0, "compress_k");
  if (projection == nullptr) fail("the tensor ", quote(layer_prefix(0) + "self_attn.compress_k.weight"), " is missing");
  encoder_.max_tokens = dimension(*projection, 1);
  const uint32_t k = dimension(*projection, 0);

  report_.add_fact("d_model", std::to_string(encoder_.d_model), "shape of " + tokens->name);
  report_.add_fact("vocabulary", std::to_string(encoder_.vocab_size), "shape of " + tokens->name);
  report_.add_fact("layers", std::to_string(layer_count_), "names of the tensors");
  report_.add_fact("longest text (N)", std::to_string(encoder_.max_tokens), "columns of " + projection->name);
  report_.add_fact("compressed length (k)", std::to_string(k), "rows of " + projection->name);
  check_agreement(settings_, "encoder_embed_dim", encoder_.d_model, "channels");
  check_agreement(settings_, "encoder_layers", layer_count_, "layers");
  check_agreement(settings_, "max_positions", encoder_.max_tokens, "positions");
  const std::optional<Setting<int64_t>> ratio = settings_.integer("compressed");
  if (ratio && (ratio->value < 1 || encoder_.max_tokens / ratio->value != k)) {
    fail("the setting compressed is ", ratio->value, " (", ratio->source, ") but the tensors compress ",
         encoder_.max_tokens, " positions to ", k, ": the settings belong to another model, give the right ones with ",
         placeholder(Option::config));
  }
  heads_ = read_head_count(settings_, "encoder_attention_heads", encoder_.d_model, report_);
  activation_ = activation_of(settings_, "activation_fn", Activation::gelu, report_);
}

void FairseqConverter::add_embedding() {
  EmbeddingDescription& embedding = encoder_.embedding;
  const Tensor* tokens = tensors_.use(encoder + "embed_tokens.weight");
  if (tokens == nullptr) {
    tokens = tensors_.use(lm_head + "weight");
    report_.notes.push_back(encoder + "embed_tokens.weight is absent: " + tokens->name +
                            " is taken for both, as safetensors keeps one name of a tied pair.");
  }
  embedding.tokens = weights_.table("embedding.tokens", *tokens, {encoder_.vocab_size, "vocabulary"}, d_model());
  embedding.position_kind = PositionKind::learned;
  embedding.positions = weights_.table("embedding.positions", tensors_.need(encoder + "embed_positions.weight"),
                                       {uint64_t{encoder_.max_tokens} + pad + 1, "N + 2"}, d_model());
  embedding.position_offset = pad + 1;
  embedding.positions_count_non_pad = true;
  embedding.pad_position = pad;
  embedding.zero_pad_rows = true;
  encoder_.pad_id = pad;
  report_.add_fact("pad id", std::to_string(pad), "fixed by fairseq's dictionaries");

  const std::optional<Setting<bool>> has_norm = settings_.flag("layernorm_embedding");
  if (tensors_.any(encoder + "layernorm_embedding.*") || !has_norm || has_norm->value) {
    embedding.norm = norm("embedding.norm", encoder + "layernorm_embedding");
  }
  if (const Tensor* transform = tensors_.use(encoder + "quant_noise.weight")) {
    embedding.transform = weights_.linear("embedding.transform", *transform, nullptr, d_model(), d_model());
    embedding.transform_before_norm = old_names_;
    report_.add_fact(
        "quant_noise", old_names_ ? "before the embedding's norm" : "after the embedding's norm",
        old_names_ ? "emb_layer_norm: the code before 2021-02-16" : "layernorm_embedding: the code since 2021-02-16");
  }
}

void FairseqConverter::add_layer(uint32_t index) {
  LayerDescription& layer = encoder_.layers.emplace_back();
  const std::string prefix = layer_prefix(index);
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.kv_heads = heads_;
  attention.head_dim = encoder_.d_model / heads_;
  attention.scale = usual_scale(attention.head_dim);
  layer.activation = activation_;

  const bool packed = tensors_.find(prefix + "self_attn.in_proj_weight") != nullptr;
  if (packed) add_attention_inputs(index, &attention);
  const uint32_t inner = dimension(tensors_.need(prefix + "fc1.weight"), 0);
  if (index == 0)
    report_.add_fact("ffn width", std::to_string(inner), "rows of " + tensors_.need(prefix + "fc1.weight").name);
  check_agreement(settings_, "encoder_ffn_embed_dim", inner, "channels between fc1 and fc2");
  read_layer_parts(conversion_, tensors_, layer_parts(), prefix, index, {d_model(), d_model(), {inner, "ffn width"}},
                   &layer);
  add_projections(index, &attention);
}

// Reads query, key and value from in_proj_weight, [3 d, d], and in_proj_bias, [3 d], which have the rows of query, key
// and value in this order.
void FairseqConverter::add_attention_inputs(uint32_t index, AttentionDescription* attention) {
  const std::string prefix = layer_prefix(index) + "self_attn.",
                    role = "layers[" + std::to_string(index) + "].attention.";
  const Tensor& weight = tensors_.need(prefix + "in_proj_weight");
  const Tensor& bias = tensors_.need(prefix + "in_proj_bias");
  const uint64_t d = encoder_.d_model;
  if (weight.shape.size() != 2 || weight.shape[0] != 3 * d || bias.shape.size() != 1 || bias.shape[0] != 3 * d) {
    fail("the tensors ", quote(weight.name), " ", shape_text(weight), " and ", quote(bias.name), " ", shape_text(bias),
         " should have ", 3 * d, " rows: query, key and value");
  }
  Linear* const targets[] = {&attention->query, &attention->key, &attention->value};
  for (size_t i = 0; i < packed_roles.size(); ++i) {
    const Tensor part = packed_part(weight, i, d), part_bias = packed_part(bias, i, d);
    *targets[i] = weights_.linear(role + packed_roles[i], part, &part_bias, d_model(), d_model());
  }
}

// Returns the layer's own projection, whose name is `own`, or the projection that layers share if the layer has none of
// its own. Returns null if there is neither.
const Tensor* FairseqConverter::projection_tensor(uint32_t layer, const char* own) {
  for (const std::string& name :
       {layer_prefix(layer) + "self_attn." + own + ".weight", layer_prefix(layer) + "shared_compress_layer.weight",
        encoder + "compress_layer.weight"}) {
    if (const Tensor* tensor = tensors_.use(name)) return tensor;
  }
  return nullptr;
}

void FairseqConverter::add_projections(uint32_t index, AttentionDescription* attention) {
  const std::string role = "layers[" + std::to_string(index) + "].attention.",
                    prefix = layer_prefix(index) + "self_attn.";
  const bool own_key = tensors_.find(prefix + "compress_k.weight") != nullptr;
  const bool own_value = tensors_.find(prefix + "compress_v.weight") != nullptr;
  const Tensor* key = projection_tensor(index, "compress_k");
  if (key == nullptr)
    fail("the tensor ", quote(prefix + "compress_k.weight"), " is missing: the checkpoint is incomplete");
  const uint32_t key_index = projections_.add(role + "key_projection", *key);
  attention->key_projections = {key_index};

  const std::optional<bool> shared = shares_key_projection(settings_);
  uint32_t value_index = key_index;
  if (own_value) {
    value_index = projections_.add(role + "value_projection", tensors_.need(prefix + "compress_v.weight"));
    if (shared == true && value_index != key_index) {
      fail("shared_kv_compressed is 1, but ", quote(prefix + "compress_v.weight"),
           " is there and differs from compress_k: the settings belong to another model");
    }
  } else if (shared == false && own_key) {
    fail("the tensor ", quote(prefix + "compress_v.weight"), " is missing although shared_kv_compressed is 0");
  }
  attention->value_projections = {value_index};
  check_same_k(encoder_, *attention, index);
}

void FairseqConverter::add_final_norm() {
  const bool present = tensors_.any(encoder + "layer_norm.*");
  encoder_.norm_placement = present ? NormPlacement::pre : NormPlacement::post;
  const std::optional<Setting<bool>> said = settings_.flag("encoder_normalize_before");
  if (said && said->value != present && !old_names_) {
    fail("the setting encoder_normalize_before is ", said->value ? "true" : "false", " (", said->source,
         ") but the tensor ", quote(encoder + "layer_norm.weight"), present ? " is there" : " is missing");
  }
  if (present) encoder_.final_norm = norm("final_norm", encoder + "layer_norm");
  report_.add_fact("norm", present ? "before attention and ffn, and at the end" : "after attention and ffn",
                   encoder + "layer_norm is " + (present ? "there" : "absent"));
}

void FairseqConverter::add_masked_lm() {
  if (!tensors_.any(lm_head + "**")) {
    report_.add_fact("masked-LM head", "none", lm_head + "* is absent");
    return;
  }
  MaskedLmHead& mlm = model_.mlm;
  mlm.dense = linear("mlm.dense", lm_head + "dense", d_model(), d_model());
  mlm.activation = activation_;
  mlm.norm = norm("mlm.norm", lm_head + "layer_norm");
  const Size vocabulary{encoder_.vocab_size, "vocabulary"};
  const Tensor* output = tensors_.use(lm_head + "weight");
  if (output == nullptr) {
    output = &tensors_.need(encoder + "embed_tokens.weight");
    report_.notes.push_back(lm_head + "weight is absent: " + output->name +
                            " is taken for both, as safetensors keeps one name of a tied pair.");
  }
  const std::optional<TensorIndex> tied =
      weights_.index_if_tied("mlm.output.weight", *output, encoder_.embedding.tokens);
  if (tied) {
    mlm.output.weight = *tied;
  } else {
    mlm.output = weights_.linear("mlm.output", *output, nullptr, vocabulary, d_model());
  }
  mlm.output.bias = weights_.floats("mlm.output.bias", tensors_.need(lm_head + "bias"), {vocabulary});
  report_.add_fact("masked-LM head", tied ? "tied to the token embedding" : "with weights of its own",
                   "values of " + output->name);
}

void FairseqConverter::add_heads() {
  // The head with fairseq's default name comes first, so that it is the default head of the model file.
  const std::string usual = "sentence_classification_head";
  std::vector<std::string> names;
  for (const std::string& name : tensors_.names(heads)) {
    const size_t end = name.find('.', heads.size());
    const std::string head = name.substr(heads.size(), end == name.npos ? name.npos : end - heads.size());
    if (names.empty() || names.back() != head) names.push_back(head);
  }
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) { return name == usual; });
  for (const std::string& name : names) add_head(name);
}

void FairseqConverter::add_head(const std::string& name) {
  ClassificationHead& head = model_.heads.emplace_back();
  head.name = name;
  head.pooling = Pooling::first_token;
  const bool first = model_.heads.size() == 1;
  head.activation = first ? activation_of(settings_, "pooler_activation_fn", Activation::tanh, report_)
                          : model_.heads.front().activation;
  const std::string prefix = heads + name + ".", role = "heads[" + name + "].";
  head.dense = linear(role + "dense", prefix + "dense", {0, "inner"}, d_model());
  const Size inner{dimension(tensors_.need(prefix + "dense.weight"), 0), "inner"};
  const std::string output = prefix + "out_proj.";
  if (const Tensor* original = tensors_.use(output + "weight_orig")) {
    head.output = weights_.spectral_norm_linear(role + "output", *original, tensors_.need(output + "weight_u"),
                                                tensors_.need(output + "weight_v"), &tensors_.need(output + "bias"),
                                                {0, "classes"}, inner);
  } else {
    head.output = linear(role + "output", prefix + "out_proj", {0, "classes"}, inner);
  }
  const uint64_t outputs = count_outputs(conversion_, head);
  report_.add_fact("head " + name, std::to_string(outputs) + (outputs == 1 ? " output" : " outputs"),
                   "shape of " + output + "weight");
  set_head_kind(
      conversion_, settings_, [this](uint64_t count) { return head_kind_of(settings_, count); }, &head);
}

void FairseqConverter::report_sharing() {
  size_t uses = 0;
  bool same_kv = true;
  for (const LayerDescription& layer : encoder_.layers) {
    uses += 2;
    same_kv = same_kv && layer.attention.key_projections == layer.attention.value_projections;
  }
  report_.add_fact("projections",
                   std::to_string(encoder_.projections.size()) + " distinct for " + std::to_string(uses) + " uses",
                   same_kv ? "values: keys and values share them" : "values");
  report_.add_fact("layout",
                   !old_names_                        ? "since 2021-02-16"
                   : tensors_.find("encoder.version") ? "2021-01-20 to 2021-02-16"
                                                      : "2020-09-28 to 2021-01-19",
                   "names of the tensors");
}

}  // namespace

DialectFacts Fairseq::facts() const {
  return {"RoBERTa of the paper's authors (fairseq examples/linformer), all versions since 2020",
          "https://github.com/facebookresearch/fairseq",
          {{R"({"encoder_attention_heads": 12})", "files without args or cfg, such as safetensors"},
           {R"({"activation_fn": "relu"})", "files without args or cfg, if the activation is not gelu"}}};
}

Recognition Fairseq::recognise(const Checkpoint& checkpoint) const {
  const std::string layers = encoder + "layers.**";
  const std::string projections[] = {encoder + "layers.*.self_attn.compress_k.weight",
                                     encoder + "layers.*.shared_compress_layer.weight",
                                     encoder + "compress_layer.weight"};
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool has_layers = false;
  const std::string* found = nullptr;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = canonical_name(tensor.name.substr(prefix));
    has_layers = has_layers || matches(name, layers);
    for (const std::string& projection : projections) {
      if (found == nullptr && matches(name, projection)) found = &projection;
    }
  }
  if (!has_layers) return {0, encoder + "layers.* (not there)"};
  if (found != nullptr) return {100, "the tensors " + *found};
  return {0, projections[0] + " (not there: this is a RoBERTa with full attention)"};
}

void Fairseq::convert(Conversion& conversion) const { FairseqConverter(conversion).run(); }

}  // namespace linformer::convert
