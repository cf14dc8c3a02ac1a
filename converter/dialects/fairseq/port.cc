#include "converter/dialects/fairseq/port.h"

#include <algorithm>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/encoder.h"
#include "converter/dialects/hugging_face/heads.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert::fairseq {

namespace {

using namespace hugging_face;

constexpr const char* shared_matrix = "encoder.compress_layer.weight";
constexpr const char* word_embeddings = "embeddings.word_embeddings.weight";
constexpr const char* final_norm = "encoder.layer_norm";

class PortConverter {
 public:
  PortConverter(Conversion& conversion, const Port& port)
      : conversion_(conversion),
        port_(port),
        tensors_(conversion.checkpoint, hugging_face::canonical_name),
        settings_(user_and_checkpoint_settings(conversion)),
        encoder_(conversion.description.encoder),
        report_(conversion.report),
        projections_(encoder_, conversion.weights, ProjectionOrder::before_linear),
        reader_(conversion, tensors_, settings_, port.family) {}

  void run() {
    read_sizes();
    reader_.add_embedding(token_table());
    for (uint32_t i = 0; i < reader_.layers(); ++i) add_layer(i);
    projections_.report(report_);
    add_final_norm();
    const HeadInputs inputs{conversion_, tensors_, settings_, port_.family, reader_.epsilon()};
    add_masked_lm(inputs);
    add_heads(inputs);
    report_or_reject_unused();
  }

 private:
  std::string layer_prefix(uint32_t layer) const { return port_.family.layers + std::to_string(layer) + "."; }
  std::string key_matrix() const { return std::string(port_.attention) + "compress_k.weight"; }
  std::string value_matrix() const { return std::string(port_.attention) + "compress_v.weight"; }

  const Tensor& token_table();
  const Tensor* matrix(uint32_t layer, const std::string& own);
  uint32_t add_projection(const std::string& role, const Tensor& matrix);
  void read_sizes();
  void add_layer(uint32_t index);
  void add_projections(uint32_t index, AttentionDescription* attention);
  void add_final_norm();
  void report_or_reject_unused();

  Conversion& conversion_;
  const Port& port_;
  TensorTable tensors_;
  const Settings settings_;
  EncoderDescription& encoder_;
  Report& report_;
  ProjectionTable projections_;
  EncoderReader reader_;
};

// Returns the token embedding or, if that is absent, the masked-LM output: safetensors keeps only one name of two tied
// tensors.
const Tensor& PortConverter::token_table() {
  if (const Tensor* tokens = tensors_.use(word_embeddings)) return *tokens;
  const Tensor* output = tensors_.use(port_.family.masked_lm.output);
  return output != nullptr ? *output : tensors_.need(word_embeddings);
}

// Returns the layer's own matrix of the name `own` or, if that is absent, the matrix that all layers share. Returns
// null if there is neither.
const Tensor* PortConverter::matrix(uint32_t layer, const std::string& own) {
  const Tensor* tensor = tensors_.use(layer_prefix(layer) + own);
  return tensor != nullptr ? tensor : tensors_.use(shared_matrix);
}

void PortConverter::read_sizes() {
  const uint32_t longest = reader_.read_sizes(token_table());
  const Tensor* projection = matrix(0, key_matrix());
  if (projection == nullptr) fail("the tensor ", quote(layer_prefix(0) + key_matrix()), " is missing");
  // Projections of models that were trained with these classes have a column for each row of the position table. Texts
  // are shorter than that table, so the last columns are never used.
  encoder_.max_tokens = std::min(longest, dimension(*projection, 1));
  report_.add_fact("longest text (N)", std::to_string(encoder_.max_tokens),
                   "columns of " + projection->name + " and rows of the positions");
  report_.add_fact("compressed length (k)", std::to_string(dimension(*projection, 0)), "rows of " + projection->name);
}

void PortConverter::add_layer(uint32_t index) {
  LayerDescription& layer = reader_.add_layer(index);
  add_projections(index, &layer.attention);
  if (port_.norm_epsilon == 0) return;
  encoder_.norm_placement = NormPlacement::pre;
  layer.attention_norm.epsilon = layer.ffn_norm.epsilon = port_.norm_epsilon;
}

void PortConverter::add_final_norm() {
  if (port_.norm_epsilon == 0) return;
  const bool present = tensors_.any(final_norm + std::string(".*"));
  const std::optional<Setting<bool>> said = settings_.flag("encoder_normalize_before");
  if (said && said->value != present) {
    fail("the setting encoder_normalize_before is ", said->value ? "true" : "false", " (", said->source, "), but ",
         quote(final_norm + std::string(".weight")), " is ", present ? "there" : "not there",
         ": the settings belong to another model");
  }
  report_.add_fact("norm behind the layers", present ? "yes" : "none",
                   std::string(final_norm) + (present ? " is there" : " is absent"));
  if (!present) return;
  encoder_.final_norm = read_norm(conversion_, tensors_, "final_norm", final_norm, {encoder_.d_model, "d_model"});
  encoder_.final_norm.epsilon = port_.norm_epsilon;
}

uint32_t PortConverter::add_projection(const std::string& role, const Tensor& matrix) {
  const bool longer = dimension(matrix, 1) > encoder_.max_tokens;
  return projections_.add(role, longer ? first_columns(matrix, encoder_.max_tokens) : matrix);
}

void PortConverter::add_projections(uint32_t index, AttentionDescription* attention) {
  const std::string role = "layers[" + std::to_string(index) + "].attention.";
  const Tensor* key = matrix(index, key_matrix());
  if (key == nullptr) fail("the tensor ", quote(layer_prefix(index) + key_matrix()), " is missing");
  attention->key_projections = {add_projection(role + "key_projection", *key)};
  const Tensor* value = tensors_.use(layer_prefix(index) + value_matrix());
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
  // If all layers share one matrix, it is that of both keys and values, and the file may keep only one of its names.
  const bool single = tensors_.find(shared_matrix) != nullptr || (over_layers && over_layers->value);
  if (shared && !shared->value && !single) {
    fail("the tensor ", quote(layer_prefix(index) + value_matrix()),
         " is missing although shared_kv_compressed is false");
  }
  attention->value_projections = attention->key_projections;
}

void PortConverter::report_or_reject_unused() {
  static constexpr const char* bias = "the attention uses the weight of this layer and never its bias";
  static constexpr const char* copy = "every layer is read from its own compress_k and compress_v";
  // If the shared matrix has the values that the layers use, it is recorded, so that the export restores it.
  if (const Tensor* shared = tensors_.find(shared_matrix); shared != nullptr && shared->shape.size() == 2) {
    const bool longer = dimension(*shared, 1) > encoder_.max_tokens;
    const Tensor used = longer ? first_columns(*shared, encoder_.max_tokens) : *shared;
    if (conversion_.weights.index_if_tied("layers[0].attention.key_projection", used, encoder_.projections[0].weight)) {
      tensors_.use(shared_matrix);
    }
  }
  const std::string layers = port_.family.layers + std::string("*.");
  const std::string own_bias = layers + port_.attention + "compress_*.bias",
                    shared_bias = layers + "shared_compress_layer.bias",
                    shared_copy = layers + "shared_compress_layer.weight";
  std::vector<NamePattern> patterns = {
      {own_bias.c_str(), bias},    {shared_bias.c_str(), bias}, {"encoder.compress_layer.bias", bias},
      {shared_copy.c_str(), copy}, {shared_matrix, copy},
  };
  patterns.insert(patterns.end(), port_.unused.begin(), port_.unused.end());
  const std::span<const NamePattern> usual = hugging_face::unused_names();
  patterns.insert(patterns.end(), usual.begin(), usual.end());
  tensors_.report_or_reject_unused(patterns, port_.model, report_);
}

}  // namespace

Recognition recognise_port(const Checkpoint& checkpoint, const Port& port) {
  const std::string query = port.family.layers + std::string("*.") + port.query + ".weight";
  const std::string projections[] = {port.family.layers + std::string("*.") + port.attention + "compress_k.weight",
                                     shared_matrix};
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool layers = false;
  const std::string* found = nullptr;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = hugging_face::canonical_name(tensor.name.substr(prefix));
    layers = layers || matches(name, query);
    for (const std::string& projection : projections) {
      if (found == nullptr && matches(name, projection)) found = &projection;
    }
  }
  if (layers && found != nullptr) return {100, "the tensors [roberta.]" + *found};
  return {0, "[roberta.]" + projections[0] + " and [roberta.]" + query + " (not there)"};
}

void convert_port(Conversion& conversion, const Port& port) { PortConverter(conversion, port).run(); }

}  // namespace linformer::convert::fairseq
