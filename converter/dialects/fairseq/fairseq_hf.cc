#include "converter/dialects/fairseq/fairseq_hf.h"

#include <algorithm>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/encoder.h"
#include "converter/dialects/hugging_face/heads.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace hugging_face;

constexpr const char* key_matrix = "attention.self.compress_k.weight";
constexpr const char* value_matrix = "attention.self.compress_v.weight";
constexpr const char* shared_matrix = "encoder.compress_layer.weight";
constexpr const char* word_embeddings = "embeddings.word_embeddings.weight";

class FairseqHfConverter {
 public:
  explicit FairseqHfConverter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(settings_beside(conversion)),
        encoder_(conversion.description.encoder),
        report_(conversion.report),
        projections_(encoder_, conversion.weights, ProjectionOrder::before_linear),
        reader_(conversion, tensors_, settings_, roberta()) {}

  void run() {
    refuse_unsupported(settings_);
    read_sizes();
    reader_.add_embedding(token_table());
    for (uint32_t i = 0; i < reader_.layers(); ++i) add_projections(i, &reader_.add_layer(i).attention);
    projections_.report(report_);
    const HeadInputs inputs{conversion_, tensors_, settings_, roberta(), reader_.epsilon()};
    add_masked_lm(inputs);
    add_heads(inputs);
    account_for_rest();
  }

 private:
  static std::string layer_prefix(uint32_t layer) { return roberta().layers + std::to_string(layer) + "."; }

  const Tensor& token_table();
  const Tensor* matrix(uint32_t layer, const char* own);
  uint32_t add_projection(const std::string& role, const Tensor& matrix);
  void read_sizes();
  void add_projections(uint32_t index, AttentionDescription* attention);
  void account_for_rest();

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  EncoderDescription& encoder_;
  Report& report_;
  ProjectionTable projections_;
  EncoderReader reader_;
};

// The masked-LM output's name where safetensors kept that one of the tied pair.
const Tensor& FairseqHfConverter::token_table() {
  if (const Tensor* tokens = tensors_.use(word_embeddings)) return *tokens;
  const Tensor* output = tensors_.use(roberta().masked_lm.output);
  return output != nullptr ? *output : tensors_.need(word_embeddings);
}

// The layer's own, or the one that all layers share where only that has been kept.
const Tensor* FairseqHfConverter::matrix(uint32_t layer, const char* own) {
  const Tensor* tensor = tensors_.use(layer_prefix(layer) + own);
  return tensor != nullptr ? tensor : tensors_.use(shared_matrix);
}

void FairseqHfConverter::read_sizes() {
  const uint32_t longest = reader_.read_sizes(token_table());
  const Tensor* projection = matrix(0, key_matrix);
  if (projection == nullptr) fail("the tensor ", quote(layer_prefix(0) + key_matrix), " is missing");
  // Models trained with these classes have as many columns as rows of positions, the last of which are never used.
  encoder_.max_tokens = std::min(longest, dimension(*projection, 1));
  report_.add_fact("longest text (N)", std::to_string(encoder_.max_tokens),
                   "columns of " + projection->name + " and rows of the positions");
  report_.add_fact("compressed length (k)", std::to_string(dimension(*projection, 0)), "rows of " + projection->name);
}

uint32_t FairseqHfConverter::add_projection(const std::string& role, const Tensor& matrix) {
  const bool longer = dimension(matrix, 1) > encoder_.max_tokens;
  return projections_.add(role, longer ? first_columns(matrix, encoder_.max_tokens) : matrix);
}

void FairseqHfConverter::add_projections(uint32_t index, AttentionDescription* attention) {
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

void FairseqHfConverter::account_for_rest() {
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

void FairseqHf::convert(Conversion& conversion) const { FairseqHfConverter(conversion).run(); }

}  // namespace linformer::convert
