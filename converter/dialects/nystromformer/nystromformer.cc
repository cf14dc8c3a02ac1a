#include "converter/dialects/nystromformer/nystromformer.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/nystromformer/heads.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace nystromformer;

// What the names of a layer's tensors begin with: `numbered` comes before the layer's number, and `shared` is for the
// only layer of a model whose layers share weights (tied_weights, shared_weight).
struct Container {
  const char *numbered, *shared;
};
constexpr Container containers[] = {{"transformer_", "transformer."},
                                    {"encoders.", "encoder."},
                                    {"backbone.backbone.encoders.", "backbone.backbone.encoder."}};

// The form of a layer.
struct Block {
  const char *ffn_in, *ffn_out;  // Names in a layer.
  Activation activation;
  // If true, a norm follows the embedding and each sublayer. Otherwise a norm precedes each sublayer and one ends the
  // encoder.
  bool bert;
  const char* description;
};
constexpr Block blocks[] = {{"mlpblock.0", "mlpblock.3", Activation::gelu, false, "long-range arena (pre-norm)"},
                            {"ff1", "ff2", Activation::gelu_tanh, true, "BERT (post-norm)"},
                            {"ff.0", "ff.2", Activation::gelu, true, "BERT of the reorganized code (post-norm)"}};

std::string canonical_name(std::string name) { return name.starts_with("model.") ? name.substr(6) : name; }

bool is_layer_tensor(const std::string& name, const std::string& suffix) {
  return std::any_of(std::begin(containers), std::end(containers), [&](const Container& container) {
    return matches(name, container.numbered + ("*." + suffix)) || name == container.shared + suffix;
  });
}

// The state of one conversion, which its steps share.
class NystromformerConverter {
 public:
  explicit NystromformerConverter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(user_and_checkpoint_settings(conversion)),
        weights_(conversion.weights),
        encoder_(conversion.description.encoder),
        report_(conversion.report),
        projections_(encoder_, weights_, ProjectionOrder::after_linear) {}

  void run();

 private:
  void refuse_unsupported();
  void read_layout();
  void read_sizes();
  void add_embedding();
  void add_layers();
  void add_layer(const std::string& prefix, uint32_t index);
  void add_projections(const std::string& prefix, const std::string& role, AttentionDescription* attention);
  const Tensor& projection_tensor(const std::string& prefix);
  const Tensor* only_projection();
  Linear linear(const std::string& role, const std::string& name, Size out, Size in) {
    return read_linear(conversion_, tensors_, role, name, out, in);
  }
  Norm norm(const std::string& role, const std::string& name, Size width) {
    return read_norm(conversion_, tensors_, role, name, width);
  }
  const Tensor& token_table();
  // Checks a setting that has the name `reorganized` in the reorganized code.
  void check(const char* name, const char* reorganized, int64_t from_tensors, const char* what) const {
    check_agreement(settings_, name, from_tensors, what);
    check_agreement(settings_, reorganized, from_tensors, what);
  }
  Size d_model() const { return {encoder_.d_model, "transformer_dim"}; }

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  WeightWriter& weights_;
  EncoderDescription& encoder_;
  Report& report_;
  ProjectionTable projections_;
  const Block* block_ = nullptr;
  std::vector<std::string> layers_;  // The prefix of each layer's names; all are equal if the layers share weights.
  bool shared_ = false;
  std::optional<const Tensor*> only_projection_;  // The projection of all layers, or null; empty until it is needed.
  uint32_t heads_ = 0, embedding_dim_ = 0;
};

void NystromformerConverter::run() {
  read_layout();
  refuse_unsupported();
  read_sizes();
  add_embedding();
  add_layers();
  if (!block_->bert) encoder_.final_norm = norm("final_norm", "norm", d_model());
  add_heads({conversion_, tensors_, settings_, embedding_dim_, block_->activation});
  projections_.report(report_);
  tensors_.report_or_reject_unused({}, "a Linformer of mlpen/Nystromformer", report_);
}

void NystromformerConverter::read_layout() {
  for (const Container& container : containers) {
    const std::string first = container.numbered + std::string("0.");
    if (tensors_.any(first + "**")) {
      const uint32_t count = count_modules(tensors_, container.numbered);
      for (uint32_t i = 0; i < count; ++i) layers_.push_back(container.numbered + std::to_string(i) + ".");
      check("num_layers", "num_layers", count, "layers");
      break;
    }
    if (!tensors_.any(container.shared + std::string("mha.**"))) continue;
    const std::optional<Setting<int64_t>> count = settings_.integer("num_layers");
    if (!count) {
      missing_setting("how often the layer is repeated, whose weights all layers share,",
                      config_option(R"({"num_layers": NUMBER})"));
    }
    if (count->value < 1 || count->value > int64_t{max_layers}) {
      fail("the setting num_layers is ", count->value, " (", count->source, "): 1 to ", max_layers, " are possible");
    }
    layers_.assign(static_cast<size_t>(count->value), container.shared);
    shared_ = true;
    break;
  }
  if (layers_.empty())
    fail("no tensor is that of a first layer (transformer_0, encoders.0): the checkpoint is incomplete");
  for (const Block& block : blocks) {
    if (tensors_.any(layers_[0] + block.ffn_in + ".*")) block_ = &block;
  }
  if (block_ == nullptr)
    fail("the tensors ", quote(layers_[0] + "*"), " have no feed-forward layer (mlpblock.0, ff1 or ff.0)");
  report_.add_fact("layout", block_->description, "the tensors " + layers_[0] + block_->ffn_in);
  report_.add_fact("layers", std::to_string(layers_.size()),
                   shared_ ? "num_layers: they share their weights" : "names of the tensors");
}

void NystromformerConverter::refuse_unsupported() {
  if (tensors_.any(layers_[0] + "mha.attn.conv.*")) {
    fail("the tensor ", quote(layers_[0] + "mha.attn.conv.weight"),
         " is a convolution of the values that transformer-ls adds to the attention: such models are not supported");
  }
  if (tensors_.any(layers_[0] + "mha.dconv_fc.*")) {
    fail("the tensors ", quote(layers_[0] + "mha.dconv_fc.*"),
         " make the projection from the text (dynamic_conv): such models are not supported");
  }
  const std::optional<Setting<int64_t>> sparse = settings_.integer("n_sparse");
  if (sparse && sparse->value != 0) {
    fail("the setting n_sparse is ", sparse->value, " (", sparse->source,
         "): such a model attends to positions drawn at random, so its outputs differ from run to run; it is not "
         "supported");
  }
  const std::optional<Setting<std::string>> kind = settings_.text("attn_type");
  if (kind && !kind->value.starts_with("linformer")) {
    fail("the setting attn_type is ", quote(kind->value), " (", kind->source,
         ") but the tensors are a Linformer's: the settings belong to another model, give the right ones with ",
         placeholder(Option::config));
  }
}

// Returns the layer's own projection or, if that is absent, the only one in the file: safetensors keeps only one name
// of a matrix that layers share.
const Tensor& NystromformerConverter::projection_tensor(const std::string& prefix) {
  const std::string name = prefix + "mha.attn.E";
  if (const Tensor* own = tensors_.use(name)) return *own;
  if (!only_projection_) {
    only_projection_ = only_projection();
    if (*only_projection_ != nullptr) {
      report_.notes.push_back(name + " is absent: " + (*only_projection_)->name +
                              " is taken for all layers, as safetensors keeps one name of a shared tensor.");
    }
  }
  return *only_projection_ != nullptr ? **only_projection_ : tensors_.need(name);
}

// Returns the projection in a safetensors file if exactly one layer has one, and otherwise null.
const Tensor* NystromformerConverter::only_projection() {
  if (!conversion_.checkpoint.format.starts_with("safetensors")) return nullptr;
  const Tensor* only = nullptr;
  for (const std::string& layer : layers_) {
    const Tensor* found = tensors_.find(layer + "mha.attn.E");
    if (found != nullptr && only != nullptr) return nullptr;
    if (found != nullptr) only = found;
  }
  return only;
}

const Tensor& NystromformerConverter::token_table() {
  if (const Tensor* tokens = tensors_.use("embeddings.word_embeddings.weight")) return *tokens;
  const Tensor* tied =
      conversion_.checkpoint.format.starts_with("safetensors") ? tensors_.use("mlm.mlm_class.weight") : nullptr;
  if (tied == nullptr) return tensors_.need("embeddings.word_embeddings.weight");
  report_.notes.push_back("embeddings.word_embeddings.weight is absent: " + tied->name +
                          " is taken for both, as safetensors keeps one name of a tied pair.");
  return *tied;
}

void NystromformerConverter::read_sizes() {
  const Tensor& tokens = token_table();
  encoder_.vocab_size = dimension(tokens, 0);
  embedding_dim_ = dimension(tokens, 1);
  const Tensor& query = tensors_.need(layers_[0] + "mha.W_q.weight");
  encoder_.d_model = dimension(query, 1);
  const Tensor& projection = projection_tensor(layers_[0]);
  heads_ = dimension(projection, 0);
  if (heads_ > max_heads) {
    fail("the tensor ", quote(projection.name), " is ", shape_text(projection), ": at most ", max_heads,
         " heads are possible");
  }
  encoder_.max_tokens = dimension(projection, 2);
  if (dimension(query, 0) % heads_ != 0) {
    fail("the tensor ", quote(query.name), " is ", shape_text(query), " but ", quote(projection.name), " has ", heads_,
         " heads, which do not divide its rows");
  }
  const std::string shape = "shape of " + projection.name;
  report_.add_fact("d_model", std::to_string(encoder_.d_model), "shape of " + query.name);
  report_.add_fact("vocabulary", std::to_string(encoder_.vocab_size), "shape of " + tokens.name);
  report_.add_fact("heads", std::to_string(heads_), shape);
  report_.add_fact("compressed length (k)", std::to_string(dimension(projection, 1)), shape);
  report_.add_fact("longest text (N)", std::to_string(encoder_.max_tokens), shape);
  check("transformer_dim", "dim", encoder_.d_model, "channels");
  check("num_head", "num_head", heads_, "heads");
  check("head_dim", "head_dim", query.shape[0] / heads_, "channels for each head");
  check("linformer_k", "linformer_k", dimension(projection, 1), "compressed positions");
  check("max_seq_len", "max_seq_len", encoder_.max_tokens, "positions");
  check("vocab_size", "vocab_size", encoder_.vocab_size, "tokens");
}

void NystromformerConverter::add_embedding() {
  EmbeddingDescription& embedding = encoder_.embedding;
  const Size width{embedding_dim_, "embedding_dim"};
  embedding.tokens = weights_.table("embedding.tokens", token_table(), {encoder_.vocab_size, "vocabulary"}, width);
  embedding.position_kind = PositionKind::learned;
  embedding.position_offset = block_->bert ? 2 : 0;
  embedding.positions =
      weights_.table("embedding.positions", tensors_.need("embeddings.position_embeddings.weight"),
                     {uint64_t{encoder_.max_tokens} + embedding.position_offset, block_->bert ? "N + 2" : "N"}, width);
  if (!block_->bert) {
    encoder_.pad_id = 0;
    report_.add_fact("pad id", "0", "fixed by the code: it masks the tokens 0");
    return;
  }
  embedding.token_types = weights_.table(
      "embedding.token_types", tensors_.need("embeddings.token_type_embeddings.weight"), {0, "num_sen_type"}, width);
  if (tensors_.any("embeddings.dense.*")) {
    embedding.factor = linear("embedding.factor", "embeddings.dense", d_model(), width);
  }
  embedding.norm = norm("embedding.norm", "embeddings.norm", d_model());
}

void NystromformerConverter::add_layers() {
  encoder_.norm_placement = block_->bert ? NormPlacement::post : NormPlacement::pre;
  encoder_.zero_masked_rows = !block_->bert;
  add_layer(layers_[0], 0);
  for (uint32_t i = 1; i < layers_.size(); ++i) {
    if (shared_) {
      encoder_.layers.push_back(encoder_.layers[0]);
    } else {
      add_layer(layers_[i], i);
    }
  }
  if (!block_->bert || encoder_.layers[0].attention.row_mask != RowMask::none) return;
  report_.notes.push_back(
      "The code gives this model texts of exactly N tokens, filled up with pads that it does not mask: "
      "for the same numbers give the text filled up in this way.");
}

void NystromformerConverter::add_layer(const std::string& prefix, uint32_t index) {
  const std::string role = "layers[" + std::to_string(index) + "].";
  LayerDescription& layer = encoder_.layers.emplace_back();
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.kv_heads = heads_;
  const uint32_t rows = dimension(tensors_.need(prefix + "mha.W_q.weight"), 0);
  attention.head_dim = rows / heads_;
  attention.scale = usual_scale(attention.head_dim);
  // The original code passes a mask to BERT models for question answering, but not to those for masked LM or
  // classification.
  const bool masks = !block_->bert || tensors_.any("qahead.*");
  attention.row_mask = masks ? RowMask::zeroed : RowMask::none;
  const Size heads{rows, "num_head x head_dim"};
  attention.query = linear(role + "attention.query", prefix + "mha.W_q", heads, d_model());
  attention.key = linear(role + "attention.key", prefix + "mha.W_k", heads, d_model());
  attention.value = linear(role + "attention.value", prefix + "mha.W_v", heads, d_model());
  attention.output = linear(role + "attention.output", prefix + "mha.ff", d_model(), heads);
  layer.attention_norm = norm(role + "attention_norm", prefix + "norm1", d_model());
  layer.ffn_norm = norm(role + "ffn_norm", prefix + "norm2", d_model());
  layer.activation = block_->activation;
  const uint32_t inner = dimension(tensors_.need(prefix + block_->ffn_in + ".weight"), 0);
  check("transformer_hidden_dim", "hidden_dim", inner, "channels inside the feed-forward layer");
  layer.ffn_in = linear(role + "ffn_in", prefix + block_->ffn_in, {inner, "transformer_hidden_dim"}, d_model());
  layer.ffn_out = linear(role + "ffn_out", prefix + block_->ffn_out, d_model(), {inner, "transformer_hidden_dim"});
  add_projections(prefix, role, &attention);
}

// Adds the projections of a layer. Its tensor E, [heads, k, N], compresses both keys and values.
void NystromformerConverter::add_projections(const std::string& prefix, const std::string& role,
                                             AttentionDescription* attention) {
  const Tensor& whole = projection_tensor(prefix);
  if (dimension(whole, 0) != heads_) {
    fail("the tensor ", quote(whole.name), " is ", shape_text(whole), " where other layers have ", heads_, " heads");
  }
  for (uint32_t head = 0; head < heads_; ++head) {
    Tensor part = select(whole, head);
    part.name += "/head" + std::to_string(head);
    attention->key_projections.push_back(
        projections_.add(role + "attention.projections[" + std::to_string(head) + "]", part));
  }
  attention->key_projections = collapse_equal_projections(std::move(attention->key_projections));
  attention->value_projections = attention->key_projections;
}

}  // namespace

DialectFacts Nystromformer::facts() const {
  return {"Linformer in mlpen/Nystromformer and its copies: long-range arena and BERT",
          "https://github.com/mlpen/Nystromformer",
          {{R"({"pooling_mode": "MEAN"})", "classifiers of the long-range arena; or CLS"},
           {R"({"num_layers": 2})", "models whose layers share their weights"}}};
}

Recognition Nystromformer::recognise(const Checkpoint& checkpoint) const {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool attention = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = canonical_name(tensor.name.substr(prefix));
    if (is_layer_tensor(name, "mha.attn.E")) return {100, "the tensors mha.attn.E of the layers"};
    attention = attention || is_layer_tensor(name, "mha.W_q.weight");
  }
  if (!attention) return {0, "transformer_*.mha.attn.E or encoders.*.mha.attn.E (not there)"};
  return {0,
          "mha.attn.E (not there: the layers have another kind of attention, or the projection was never saved, as "
          "Skyformer's Linformer does not when it is made on a GPU; it is drawn at random and can't be known)"};
}

void Nystromformer::convert(Conversion& conversion) const { NystromformerConverter(conversion).run(); }

}  // namespace linformer::convert
