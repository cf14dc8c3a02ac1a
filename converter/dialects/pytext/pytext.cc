#include "converter/dialects/pytext/pytext.h"

#include <algorithm>
#include <cmath>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

constexpr uint32_t pad = 1;  // PyText's transformer always has this pad token.
constexpr const char* root = "transformer.";
constexpr const char* compressing = "transformer.layers.*.attention.compress_k.weight";

// Returns the name with the prefix "transformer." instead of the longer prefixes that it has in a whole model
// (encoder.encoder.transformer.) and in an encoder module (encoder.transformer.).
std::string canonical_pytext_name(std::string name) {
  for (const char* outer : {"encoder.encoder.transformer.", "encoder.transformer."}) {
    if (name.starts_with(outer)) return root + name.substr(std::string(outer).size());
  }
  return name;
}

class PytextConverter {
 public:
  explicit PytextConverter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_pytext_name),
        settings_(user_and_checkpoint_settings(conversion)),
        encoder_(conversion.description.encoder),
        report_(conversion.report),
        projections_(encoder_, conversion.weights, ProjectionOrder::before_linear) {}

  void run() {
    read_sizes();
    add_embedding();
    for (uint32_t i = 0; i < layers_; ++i) add_layer(i);
    projections_.report(report_);
    add_head();
    tensors_.report_or_reject_unused({}, "a PyText Linformer", report_);
  }

 private:
  Size d_model() const { return {encoder_.d_model, "embedding_dim"}; }
  static std::string layer_prefix(uint32_t layer) {
    return std::string(root) + "layers." + std::to_string(layer) + ".";
  }
  Linear linear(const std::string& role, const std::string& name, Size out, Size in) {
    return read_linear(conversion_, tensors_, role, name, out, in);
  }
  Norm norm(const std::string& role, const std::string& name) {
    return read_norm(conversion_, tensors_, role, name, d_model());
  }

  void read_sizes();
  float score_scale();
  void add_embedding();
  void add_layer(uint32_t index);
  uint32_t add_projection(const std::string& prefix, const std::string& role);
  bool adds_bias(const Tensor& bias);
  void add_head();
  KindRule kind_of(uint64_t outputs) const;

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  EncoderDescription& encoder_;
  Report& report_;
  ProjectionTable projections_;
  uint32_t layers_ = 0, heads_ = 0;
  float scale_ = 0;
};

void PytextConverter::read_sizes() {
  const Tensor& tokens = tensors_.need("transformer.token_embedding.weight");
  const Tensor& projection = tensors_.need(layer_prefix(0) + "attention.compress_k.weight");
  encoder_.vocab_size = dimension(tokens, 0);
  encoder_.d_model = dimension(tokens, 1);
  encoder_.max_tokens = dimension(projection, 1);
  encoder_.pad_id = pad;
  if (encoder_.vocab_size <= pad)
    fail("the tensor ", quote(tokens.name), " is ", shape_text(tokens), ": it has no row for the pad token");
  layers_ = count_modules(tensors_, std::string(root) + "layers.");
  report_.add_fact("d_model", std::to_string(encoder_.d_model), "shape of " + tokens.name);
  report_.add_fact("vocabulary", std::to_string(encoder_.vocab_size), "shape of " + tokens.name);
  report_.add_fact("layers", std::to_string(layers_), "names of the tensors");
  report_.add_fact("longest text (N)", std::to_string(encoder_.max_tokens), "columns of " + projection.name);
  report_.add_fact("compressed length (k)", std::to_string(dimension(projection, 0)), "rows of " + projection.name);
  report_.add_fact("pad id", std::to_string(pad), "fixed by PyText's transformer");
  check_agreement(settings_, "embedding_dim", encoder_.d_model, "channels");
  check_agreement(settings_, "vocab_size", encoder_.vocab_size, "tokens");
  check_agreement(settings_, "num_encoder_layers", layers_, "layers");
  check_agreement(settings_, "max_seq_len", int64_t{encoder_.max_tokens} + pad + 1, "rows of positions");
  heads_ = read_head_count(settings_, "num_attention_heads", encoder_.d_model, report_);
  scale_ = score_scale();
}

// Returns the scale of scores. PyText's encoder never sets it, so that it is the default, 1/8, for heads of any width.
float PytextConverter::score_scale() {
  constexpr double usual = 0.125;
  const std::optional<Setting<Value>> said = settings_.value("scaling");
  const std::optional<double> scale = said ? said->value.real() : usual;
  if (!scale || !std::isfinite(*scale) || *scale <= 0)
    fail("the setting scaling (", said->source, ") is not a positive number");
  report_.add_fact("scale of scores", std::to_string(*scale),
                   said ? "scaling, " + said->source : "fixed by PyText, whatever the heads' width");
  return static_cast<float>(*scale);
}

void PytextConverter::add_embedding() {
  EmbeddingDescription& embedding = encoder_.embedding;
  WeightWriter& weights = conversion_.weights;
  embedding.tokens = weights.table("embedding.tokens", tensors_.need("transformer.token_embedding.weight"),
                                   {encoder_.vocab_size, "vocab_size"}, d_model());
  embedding.position_kind = PositionKind::learned;
  embedding.positions =
      weights.table("embedding.positions", tensors_.need("transformer.positional_embedding.embedding.weight"),
                    {uint64_t{encoder_.max_tokens} + pad + 1, "N + 2"}, d_model());
  embedding.position_offset = pad + 1;
  embedding.positions_count_non_pad = true;
  embedding.pad_position = pad;
  embedding.zero_pad_rows = true;
  embedding.norm = norm("embedding.norm", "transformer.embedding_layer_norm");
}

void PytextConverter::add_layer(uint32_t index) {
  LayerDescription& layer = encoder_.layers.emplace_back();
  AttentionDescription& attention = layer.attention;
  const std::string prefix = layer_prefix(index), role = "layers[" + std::to_string(index) + "].";
  attention.heads = attention.kv_heads = heads_;
  attention.head_dim = encoder_.d_model / heads_;
  attention.scale = scale_;
  attention.query = linear(role + "attention.query", prefix + "attention.qput_projection", d_model(), d_model());
  attention.key = linear(role + "attention.key", prefix + "attention.kput_projection", d_model(), d_model());
  attention.value = linear(role + "attention.value", prefix + "attention.vput_projection", d_model(), d_model());
  attention.output = linear(role + "attention.output", prefix + "attention.output_projection", d_model(), d_model());
  const uint32_t projection = add_projection(prefix + "attention.compress_k", role + "attention.key_projection");
  attention.key_projections = attention.value_projections = {projection};
  layer.attention_norm = norm(role + "attention_norm", prefix + "attention_layer_norm");
  layer.ffn_norm = norm(role + "ffn_norm", prefix + "final_layer_norm");
  // Parts 1 and 2 are the activation and dropout. A deeper network has further Linears, which are refused as unknown
  // tensors.
  const std::string mlp = prefix + "residual_mlp.mlp.";
  const Size ffn{dimension(tensors_.need(mlp + "0.weight"), 0), "ffn width"};
  layer.ffn_in = linear(role + "ffn_in", mlp + "0", ffn, d_model());
  layer.ffn_out = linear(role + "ffn_out", mlp + "3", d_model(), ffn);
  layer.activation = Activation::gelu;
  if (index == 0) report_.add_fact("ffn width", std::to_string(ffn.value), "rows of " + mlp + "0.weight");
}

uint32_t PytextConverter::add_projection(const std::string& prefix, const std::string& role) {
  const Tensor& weight = tensors_.need(prefix + ".weight");
  const Tensor* bias = tensors_.find(prefix + ".bias");
  if (bias == nullptr) return projections_.add(role, weight);
  tensors_.use(prefix + ".bias");
  if (adds_bias(*bias)) return projections_.add(role, weight, bias);
  report_.left_out.push_back({bias->name, "PyText's attention uses the weight of this layer and not its bias"});
  return projections_.add(role, weight);
}

// Returns whether the attention adds the bias of compress_k. Only models for quantised export add it, but all models
// have the tensor.
bool PytextConverter::adds_bias(const Tensor& bias) {
  constexpr const char* name = "linformer_quantize";
  if (const std::optional<Setting<bool>> said = settings_.flag(name)) return said->value;
  const std::vector<float> values = conversion_.weights.read(bias);
  if (std::all_of(values.begin(), values.end(), [](float value) { return value == 0; })) return false;
  missing_setting("whether the attention adds " + quote(bias.name) + ", as PyText's does for quantised export only,",
                  config_option(R"({"linformer_quantize": false})") + " for the usual model");
}

// Returns how PyText interprets the outputs. RegressionOutputLayer is its only output layer for a single output.
KindRule PytextConverter::kind_of(uint64_t outputs) const {
  if (outputs != 1) return usual_head_kind(outputs);
  const std::optional<Setting<bool>> squash = settings_.flag("squash_to_unit_range");
  if (squash && squash->value) {
    return {HeadKind::score, Activation::sigmoid, "squash_to_unit_range, " + squash->source};
  }
  return {HeadKind::regression, Activation::none, "one output: PyText reads it as it is, unless squash_to_unit_range"};
}

// Reads the head, which is encoder.projection and decoder.mlp. There may be one hidden Linear between the pooled row
// and the classes.
void PytextConverter::add_head() {
  const std::string mlp = "decoder.mlp.", projection = "encoder.projection";
  if (!tensors_.any(mlp + "**")) return;
  const std::optional<Setting<std::string>> pooling = settings_.text("pooling");
  if (!pooling) {
    missing_setting("what the decoder reads (the first row, or each row)",
                    config_option(R"({"pooling": "cls_token"})") + " or " + config_option(R"({"pooling": "no_pool"})"));
  }
  if (pooling->value != "cls_token" && pooling->value != "no_pool") {
    fail("the setting pooling is ", quote(pooling->value), " (", pooling->source,
         "); cls_token and no_pool are supported");
  }
  const std::optional<Setting<bool>> normalize = settings_.flag("normalize_output_rep");
  if (normalize && normalize->value) {
    fail("the setting normalize_output_rep is true (", normalize->source,
         "): decoders that read vectors of length 1 are not supported");
  }
  const bool projected = tensors_.any(projection + ".*"), hidden = tensors_.any(mlp + "2.*");
  if (tensors_.any(mlp + "4.*") || (projected && hidden)) {
    fail("the decoder has more than one hidden layer (", projected ? projection + ", " : "", mlp,
         "*), which is not supported");
  }
  ClassificationHead& head = conversion_.description.heads.emplace_back();
  head.name = "decoder";
  head.pooling = pooling->value == "cls_token" ? Pooling::first_token : Pooling::none;
  Size width = d_model();
  if (projected || hidden) {
    const std::string dense = projected ? projection : mlp + "0";
    head.dense = linear("heads[decoder].dense", dense, {0, "hidden width"}, d_model());
    head.activation = projected ? Activation::tanh : Activation::relu;
    width = {dimension(tensors_.need(dense + ".weight"), 0), "hidden width"};
  }
  const std::string output = mlp + (hidden ? "2" : "0");
  head.output = linear("heads[decoder].output", output, {0, "classes"}, width);
  report_.add_fact("pooling", pooling->value, "pooling, " + pooling->source);
  const uint64_t outputs = count_outputs(conversion_, head);
  report_.add_fact("head decoder", std::to_string(outputs) + (outputs == 1 ? " output" : " outputs"),
                   "shape of " + output + ".weight");
  set_head_kind(
      conversion_, settings_, [this](uint64_t count) { return kind_of(count); }, &head);
}

}  // namespace

DialectFacts Pytext::facts() const {
  return {"PyText's RoBERTa encoder with linear attention",
          "https://github.com/facebookresearch/pytext",
          {{R"({"num_attention_heads": 12})", "always"},
           {R"({"pooling": "cls_token"})", "models with a decoder; or no_pool"},
           {R"({"linformer_quantize": false})", "models whose compress_k has a bias other than 0"}}};
}

Recognition Pytext::recognise(const Checkpoint& checkpoint) const {
  const size_t prefix = wrapper_prefix_length(checkpoint);
  for (const Tensor& tensor : checkpoint.tensors) {
    if (matches(canonical_pytext_name(tensor.name.substr(prefix)), compressing))
      return {100, "the tensor " + tensor.name};
  }
  return {0, std::string("[encoder.][encoder.]") + compressing + " (not there)"};
}

void Pytext::convert(Conversion& conversion) const { PytextConverter(conversion).run(); }

}  // namespace linformer::convert
