#include "converter/linearised_encoder.h"

#include "converter/tiny_fairseq.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test {

using nlohmann::json;

std::string matrix_name(size_t layer, const std::string& side) {
  return "linformer.layers." + std::to_string(layer) + "." + side;
}

LinearisedEncoder LinearisedEncoder::tiny(TinyFamily family, int64_t layers) {
  TinyHuggingFace made;
  made.family = family;
  made.layers = layers;
  return {made.tensors(), made.config()};
}

LinearisedEncoder LinearisedEncoder::golden(const std::string& name) {
  const std::string folder = golden_cases_folder() + "/" + name;
  return {tensors_of(folder + "/checkpoint.safetensors"), json::parse(read_file(folder + "/meta.json")).at("config")};
}

LinearisedEncoder LinearisedEncoder::with_every_kind() {
  LinearisedEncoder made = tiny();
  made.linearise(json::parse(R"([null, {"k": 3, "window": 0}, {"k": 3, "window": 2, "exact_tokens": [1, 5], "span": 8},
                                 {"k": 0, "window": 1}])"),
                 9);
  return made;
}

void LinearisedEncoder::linearise(const json& layers, int64_t columns) {
  config["linformer"] = {{"layers", layers}};
  for (size_t i = 0; i < layers.size(); ++i) {
    const int64_t k = layers[i].is_null() ? 0 : layers[i].at("k").get<int64_t>();
    if (k == 0) continue;
    const auto seed = static_cast<uint32_t>(100 + 2 * i);
    tensors.push_back(random_tensor(matrix_name(i, "keys"), {k, columns}, seed));
    if (i % 2 == 0) tensors.push_back(random_tensor(matrix_name(i, "values"), {k, columns}, seed + 1));
  }
}

std::span<const LinearisedTeacher> linearised_teachers() {
  static constexpr LinearisedTeacher teachers[] = {{"hugging-face/bert_labels"},
                                                   {"hugging-face/bert_reranker"},
                                                   {"hugging-face/roberta_score"},
                                                   {"hugging-face/distilbert_score"},
                                                   {"hugging-face/electra_labels"},
                                                   {"hugging-face/albert_masked_lm"},
                                                   {"hugging-face/roformer_labels"},
                                                   {"hugging-face/mpnet_labels", true},
                                                   {"hugging-face/jina_encoder", true},
                                                   {"hugging-face/jina_code_encoder", true},
                                                   {"modernbert/masked_lm", false, true},
                                                   {"modernbert/labels", false, true},
                                                   {"rotary-bert/gte_tokens"},
                                                   {"rotary-bert/gte_masked_lm"},
                                                   {"rotary-bert/nomic_bert_labels"}};
  return teachers;
}

}  // namespace linformer_test
