#include "converter/dialects/bert_linformer/pull_request.h"

#include "converter/dialects/bert_linformer/converter.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using bert_linformer::Converter;

constexpr const char *layers = "encoder.layer.", *key = "attention.self.key_projection",
                     *value = "attention.self.value_projection";

void refuse_others(const Settings& settings, const TensorTable& tensors) {
  hugging_face::refuse_unsupported(settings);
  if (tensors.any(std::string(layers) + "*.attention.self.distance_embedding.*")) {
    fail("the tensors ", layers,
         "*.attention.self.distance_embedding.* are relative positions, which are not supported: compressed keys have "
         "no positions, unless k is the text's length");
  }
  const std::optional<std::string> architecture = hugging_face::architecture_suffix(settings);
  if (tensors.any("sequence_summary.**") || (architecture && *architecture == "ForMultipleChoice")) {
    fail("LinformerForMultipleChoice, which reads a text's last row, is not supported");
  }
}

// Adds the projections of all heads, [heads, k, N], and returns their indices: one for each head, or a single one if
// they are all equal.
std::vector<uint32_t> add_heads(Converter& converter, const std::string& role, const Tensor& tensor, uint32_t heads) {
  if (tensor.shape.size() != 3 || tensor.shape[0] != heads) {
    fail("the tensor ", quote(tensor.name), " is ", shape_text(tensor), ", but [", heads,
         " (heads), k, N] is expected");
  }
  std::vector<uint32_t> made;
  for (uint32_t head = 0; head < heads; ++head) {
    Tensor part = select(tensor, head);
    part.name.append("/").append(std::to_string(head));
    made.push_back(converter.add_projection(role + "[" + std::to_string(head) + "]", part));
  }
  return collapse_equal_projections(std::move(made));
}

}  // namespace

DialectFacts TransformersLinformer::facts() const {
  return {"Linformer as transformers' pull request 10587 has it",
          "https://github.com/huggingface/transformers/pull/10587",
          {{R"({"num_attention_heads": 12})", "always; config.json of the model's folder has it"}}};
}

Recognition TransformersLinformer::recognise(const Checkpoint& checkpoint) const {
  const std::string projection = std::string(layers) + "*." + key;
  const size_t prefix = wrapper_prefix_length(checkpoint);
  for (const Tensor& tensor : checkpoint.tensors) {
    if (matches(hugging_face::canonical_name(tensor.name.substr(prefix)), projection)) {
      return {100, "the tensors " + projection};
    }
  }
  return {0, projection + " (not there)"};
}

void TransformersLinformer::convert(Conversion& conversion) const {
  const Settings settings = user_and_checkpoint_settings(conversion);
  const bert_linformer::Form form = {hugging_face::linformer(), RowMask::zeroed, LengthScale::none,
                                     "a Linformer of transformers' pull request"};
  Converter converter(conversion, settings, form);
  TensorTable& tensors = converter.tensors();
  refuse_others(settings, tensors);
  const Tensor& first = tensors.need(std::string(layers) + "0." + key);
  if (first.shape.size() != 3)
    fail("the tensor ", quote(first.name), " is ", shape_text(first), ", but [heads, k, N] is expected");
  converter.read_sizes(dimension(first, 2), "columns of " + first.name);
  check_agreement(settings, "seq_length", dimension(first, 2), "columns of projections");
  const std::optional<Setting<bool>> shared = settings.flag("share_projection");
  converter.read([&](uint32_t index, AttentionDescription* attention) {
    const std::string role = "layers[" + std::to_string(index) + "].attention.";
    const std::string prefix = std::string(layers).append(std::to_string(index)).append(".");
    attention->key_projections =
        add_heads(converter, role + "key_projections", tensors.need(prefix + key), attention->heads);
    const Tensor* values = tensors.use(prefix + value);
    if (shared && shared->value != (values == nullptr)) {
      fail("the setting share_projection is ", shared->value ? "true" : "false", " (", shared->source, "), but ",
           quote(prefix + value), " is ", values == nullptr ? "not there" : "there",
           ": the settings belong to another model");
    }
    attention->value_projections = attention->key_projections;
    if (values != nullptr) {
      attention->value_projections = add_heads(converter, role + "value_projections", *values, attention->heads);
    }
  });
  conversion.report.notes.push_back(
      "The classes take texts of exactly seq_length tokens and zero masked rows of keys and values: a shorter text "
      "has the same answer without padding.");
}

}  // namespace linformer::convert
