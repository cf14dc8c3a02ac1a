#include "converter/dialects/fairseq_hf.h"

#include <algorithm>

#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face_heads.h"
#include "converter/dialects/hugging_face_names.h"
#include "converter/dialects/hugging_face_settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace hugging_face;

constexpr const char* key_matrix = "attention.self.compress_k.weight";
constexpr const char* value_matrix = "attention.self.compress_v.weight";
constexpr const char* shared_matrix = "encoder.compress_layer.weight";
constexpr const char* word_embeddings = "embeddings.word_embeddings.weight";

class Converter {
 public:
  explicit Converter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(settings_beside(conversion)),
        encoder_(conversion.description.encoder),
        report_(conversion.report),
        projections_(encoder_, conversion.weights, ProjectionOrder::before_linear) {}

  void run() {
    refuse_unsupported(settings_);
    read_sizes();
    add_embedding();
    for (uint32_t i = 0; i < layers_; ++i) add_layer(i);
    projections_.report(report_);
    const HeadInputs inputs{conversion_, tensors_, settings_, roberta(), epsilon_};
    add_masked_lm(inputs);
    add_heads(inputs);
    account_for_rest();
  }

 private:
  Size d_model() const { return {encoder_.d_model, "hidden_size"}; }
  static std::string layer_prefix(uint32_t layer) { return roberta().layers + std::to_string(layer) + "."; }
  Norm norm(const std::string& role, const std::string& name) {
    Norm made = read_norm(conversion_, tensors_, role, name, d_model());
    made.epsilon = epsilon_;
    return made;
  }

  const Tensor& token_table();
  const Tensor* matrix(uint32_t layer, const char* own);
  uint32_t add_projection(const std::string& role, const Tensor& matrix);
  void read_sizes();
  void add_embedding();
  void add_layer(uint32_t index);
  void add_projections(uint32_t index, AttentionDescription* attention);
  void account_for_rest();

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  EncoderDescription& encoder_;
  Report& report_;
  ProjectionTable projections_;
  uint32_t layers_ = 0, heads_ = 0;
  float epsilon_ = 0;
  Activation activation_ = Activation::gelu;
};

// The masked-LM output's name where safetensors kept that one of the tied pair.
const Tensor& Converter::token_table() {
  if (const Tensor* tokens = tensors_.use(word_embeddings)) return *tokens;
  const Tensor* output = tensors_.use(roberta().masked_lm.output);
  return output != nullptr ? *output : tensors_.need(word_embeddings);
}

// The layer's own, or the one that all layers share where only that has been kept.
const Tensor* Converter::matrix(uint32_t layer, const char* own) {
  const Tensor* tensor = tensors_.use(layer_prefix(layer) + own);
  return tensor != nullptr ? tensor : tensors_.use(shared_matrix);
}

void Converter::read_sizes() {
  const Tensor& tokens = token_table();
  const Tensor& positions = tensors_.need("embeddings.position_embeddings.weight");
  const Tensor* projection = matrix(0, key_matrix);
  if (projection == nullptr) fail("the tensor ", quote(layer_prefix(0) + key_matrix), " is missing");
  encoder_.vocab_size = dimension(tokens, 0);
  encoder_.d_model = dimension(tokens, 1);
  layers_ = count_modules(tensors_, roberta().layers);
  encoder_.pad_id = pad_of(settings_, roberta(), encoder_.vocab_size, report_);
  const uint32_t rows = dimension(positions, 0), first = static_cast<uint32_t>(encoder_.pad_id) + 1;
  if (rows <= first) {
    fail("the tensor ", quote(positions.name), " is ", shape_text(positions), ": the first token has row ", first);
  }
  // Models trained with these classes have as many columns as rows of positions, the last of which are never used.
  encoder_.max_tokens = std::min(rows - first, dimension(*projection, 1));
  encoder_.embedding.position_offset = first;
  report_.add_fact("d_model", std::to_string(encoder_.d_model), "shape of " + tokens.name);
  report_.add_fact("vocabulary", std::to_string(encoder_.vocab_size), "shape of " + tokens.name);
  report_.add_fact("layers", std::to_string(layers_), "names of the tensors");
  report_.add_fact("longest text (N)", std::to_string(encoder_.max_tokens),
                   "columns of " + projection->name + " and rows of " + positions.name);
  report_.add_fact("compressed length (k)", std::to_string(dimension(*projection, 0)), "rows of " + projection->name);
  check_agreement(settings_, "hidden_size", encoder_.d_model, "channels");
  check_agreement(settings_, "num_hidden_layers", layers_, "layers");
  check_agreement(settings_, "vocab_size", encoder_.vocab_size, "tokens");
  check_agreement(settings_, "max_position_embeddings", rows, "rows of positions");
  heads_ = needed_heads(settings_, roberta().settings.heads, encoder_.d_model, report_);
  activation_ = activation_of(settings_, roberta().settings.activation, report_);
  epsilon_ = epsilon_of(settings_, roberta(), report_);
}

void Converter::add_embedding() {
  EmbeddingDescription& embedding = encoder_.embedding;
  WeightWriter& weights = conversion_.weights;
  embedding.tokens = weights.table("embedding.tokens", token_table(), {encoder_.vocab_size, "vocab_size"}, d_model());
  embedding.position_kind = PositionKind::learned;
  embedding.positions = weights.table("embedding.positions", tensors_.need("embeddings.position_embeddings.weight"),
                                      {0, "positions"}, d_model());
  // Unlike fairseq, the port leaves the rows of pads as they are.
  embedding.positions_count_non_pad = true;
  embedding.pad_position = static_cast<uint32_t>(encoder_.pad_id);
  embedding.token_types = weights.table(
      "embedding.token_types", tensors_.need("embeddings.token_type_embeddings.weight"), {0, "token types"}, d_model());
  embedding.norm = norm("embedding.norm", "embeddings.LayerNorm");
}

void Converter::add_layer(uint32_t index) {
  LayerDescription& layer = encoder_.layers.emplace_back();
  AttentionDescription& attention = layer.attention;
  const std::string prefix = layer_prefix(index), role = "layers[" + std::to_string(index) + "].";
  attention.heads = attention.kv_heads = heads_;
  attention.head_dim = encoder_.d_model / heads_;
  attention.scale = usual_scale(attention.head_dim);
  layer.activation = activation_;
  const Tensor& inner = tensors_.need(prefix + "intermediate.dense.weight");
  const Size ffn{dimension(inner, 0), "intermediate_size"};
  if (index == 0) report_.add_fact("ffn width", std::to_string(ffn.value), "rows of " + inner.name);
  check_agreement(settings_, "intermediate_size", static_cast<int64_t>(ffn.value), "channels inside the ffn");
  for (const LinearName& name : roberta().linears) {
    Linear& target = name.attention ? attention.*name.attention : layer.*name.layer;
    const bool in = name.layer == &LayerDescription::ffn_in, out = name.layer == &LayerDescription::ffn_out;
    target = read_linear(conversion_, tensors_, role + name.role, prefix + name.suffix, in ? ffn : d_model(),
                         out ? ffn : d_model());
  }
  for (const NormName& name : roberta().norms) layer.*name.norm = norm(role + name.role, prefix + name.suffix);
  add_projections(index, &attention);
}

uint32_t Converter::add_projection(const std::string& role, const Tensor& matrix) {
  const bool longer = dimension(matrix, 1) > encoder_.max_tokens;
  return projections_.add(role, longer ? first_columns(matrix, encoder_.max_tokens) : matrix);
}

void Converter::add_projections(uint32_t index, AttentionDescription* attention) {
  const std::string role = "layers[" + std::to_string(index) + "].attention.";
  const Tensor* key = matrix(index, key_matrix);
  if (key == nullptr) fail("the tensor ", quote(layer_prefix(index) + key_matrix), " is missing");
  attention->key_projections = {add_projection(role + "key_projection", *key)};
  const Tensor* value = tensors_.use(layer_prefix(index) + value_matrix);
  const std::optional<Setting<bool>> shared = settings_.flag("shared_kv_compressed");
  const std::optional<Setting<bool>> over_layers = settings_.flag("shared_layer_kv_compressed");
  if (value != nullptr) {
    attention->value_projections = {add_projection(role + "value_projection", *value)};
    check_same_k(encoder_, *attention, index);
    if (shared && shared->value && attention->value_projections != attention->key_projections) {
      fail("shared_kv_compressed is true (", shared->source, "), but ", quote(value->name),
           " differs from compress_k: the settings belong to another model");
    }
    return;
  }
  // Over layers there is one matrix for keys and values, of which the file may keep a single name.
  const bool single = tensors_.find(shared_matrix) != nullptr || (over_layers && over_layers->value);
  if (shared && !shared->value && !single) {
    fail("the tensor ", quote(layer_prefix(index) + value_matrix),
         " is missing although shared_kv_compressed is false");
  }
  attention->value_projections = attention->key_projections;
}

void Converter::account_for_rest() {
  static constexpr const char* bias = "the attention uses the weight of this layer and never its bias";
  static constexpr const char* copy = "every layer is read from its own compress_k and compress_v";
  // Where it is what the layers use it is kept, for the way back.
  if (const Tensor* shared = tensors_.find(shared_matrix); shared != nullptr && shared->shape.size() == 2) {
    const bool longer = dimension(*shared, 1) > encoder_.max_tokens;
    const Tensor used = longer ? first_columns(*shared, encoder_.max_tokens) : *shared;
    if (conversion_.weights.tied("layers[0].attention.key_projection", used, encoder_.projections[0].weight)) {
      tensors_.use(shared_matrix);
    }
  }
  std::vector<NamePattern> patterns = {
      {"encoder.layer.*.attention.self.compress_*.bias", bias},
      {"encoder.layer.*.shared_compress_layer.bias", bias},
      {"encoder.compress_layer.bias", bias},
      {"encoder.layer.*.shared_compress_layer.weight", copy},
      {shared_matrix, copy},
  };
  const std::span<const NamePattern> usual = unused_names();
  patterns.insert(patterns.end(), usual.begin(), usual.end());
  tensors_.account_for_rest(patterns, "a RoBERTa with Linformer attention", report_);
}

}  // namespace

DialectFacts FairseqHf::facts() const {
  return {"fairseq's Linformer in Hugging Face's RoBERTa classes",
          "a community port; the classes are those of https://github.com/huggingface/transformers",
          {{R"({"num_attention_heads": 12})", "always; config.json of the model's folder has it"}}};
}

Recognition FairseqHf::recognise(const Checkpoint& checkpoint) const {
  const std::string projections[] = {std::string("encoder.layer.*.") + key_matrix, shared_matrix};
  const size_t prefix = wrapper_prefix(checkpoint);
  bool layers = false;
  const std::string* found = nullptr;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = canonical_name(tensor.name.substr(prefix));
    layers = layers || matches(name, "encoder.layer.*.attention.self.query.weight");
    for (const std::string& projection : projections) {
      if (found == nullptr && matches(name, projection)) found = &projection;
    }
  }
  if (layers && found != nullptr) return {100, "the tensors [roberta.]" + *found};
  return {0, "[roberta.]" + projections[0] + " (not there)"};
}

void FairseqHf::convert(Conversion& conversion) const { Converter(conversion).run(); }

}  // namespace linformer::convert
