#include "converter/dialects/bert_linformer/cald.h"

#include "converter/dialects/bert_linformer/converter.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using bert_linformer::Converter;

constexpr const char *key = "attention.self.proj_k", *value = "attention.self.proj_v";

std::string layer(uint32_t index, const char* name) { return "encoder.layer." + std::to_string(index) + "." + name; }

// Returns the layer's own key projection. If the checkpoint has only one projection, returns that of the first layer:
// all layers share it, and safetensors keeps only one name of a shared tensor.
const Tensor& key_projection(TensorTable& tensors, uint32_t index) {
  if (const Tensor* own = tensors.use(layer(index, key))) return *own;
  size_t there = 0;
  for (const std::string& name : tensors.names("encoder.layer.")) {
    there +=
        matches(name, std::string("encoder.layer.*.") + key) || matches(name, std::string("encoder.layer.*.") + value);
  }
  return tensors.need(layer(there == 1 ? 0 : index, key));
}

}  // namespace

DialectFacts Cald::facts() const {
  return {"CALD: RoBERTa with Linformer attention, divided by the root of a text's length",
          "https://github.com/idiap/linearize-distill-pretrained-transformers",
          {{R"({"num_attention_heads": 12})", "always; config.json of the model that it was made from has it"},
           {R"({"model_type": "roberta"})", "if the tensors' names do not show the family"}}};
}

Recognition Cald::recognise(const Checkpoint& checkpoint) const {
  const std::string projection = std::string("encoder.layer.*.") + key, query = layer(0, "attention.self.query.weight");
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool projects = false, asks = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = hugging_face::canonical_name(tensor.name.substr(prefix));
    projects = projects || matches(name, projection);
    asks = asks || name == query;
  }
  if (projects && asks) return {100, "the tensors " + projection};
  return {0, projection + " and " + query + " (not there)"};
}

void Cald::convert(Conversion& conversion) const {
  const Settings settings = user_and_checkpoint_settings(conversion);
  hugging_face::refuse_unsupported(settings);
  const bert_linformer::Form form = {hugging_face::family_of(settings, conversion.checkpoint, conversion.report),
                                     RowMask::none, LengthScale::inverse_root, "a CALD model"};
  Converter converter(conversion, settings, form);
  TensorTable& tensors = converter.tensors();
  const Tensor& first = key_projection(tensors, 0);
  converter.read_sizes(dimension(first, 0), "rows of " + first.name);
  converter.read([&](uint32_t index, AttentionDescription* attention) {
    const std::string role = "layers[" + std::to_string(index) + "].attention.";
    const Tensor& keys = key_projection(tensors, index);
    attention->key_projections = {converter.add_projection(role + "key_projection", transposed(keys))};
    // In CALD's sharing modes kv and layer, keys and values share one projection, and proj_v is absent.
    const Tensor* values = tensors.use(layer(index, value));
    attention->value_projections = attention->key_projections;
    if (values != nullptr) {
      attention->value_projections = {converter.add_projection(role + "value_projection", transposed(*values))};
    }
  });
  conversion.report.add_fact("compressed rows", "divided by the root of the text's length", "the dialect");
}

}  // namespace linformer::convert
