#include "converter/tiny_fairseq.h"

#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>

namespace linformer_test {

HandTensor random_tensor(const std::string& name, const std::vector<int64_t>& shape, uint32_t seed) {
  HandTensor tensor{name, shape, {}, DataType::f32};
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  // The seed depends on the name, so that tensors of the same shape differ.
  std::mt19937 random(seed + static_cast<uint32_t>(std::hash<std::string>()(name)));
  for (int64_t i = 0; i < elements; ++i) {
    tensor.values.push_back(static_cast<float>(static_cast<int32_t>(random() % 4001) - 2000) / 1024.f);
  }
  return tensor;
}

std::vector<HandTensor> TinyFairseq::tensors() const {
  std::vector<HandTensor> made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, seed));
  };
  const auto add_weight_bias = [&](const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  };
  add(tiny_encoder + "embed_tokens.weight", {vocabulary, d});
  add(tiny_encoder + "embed_positions.weight", {n + 2, d});
  add_weight_bias(tiny_encoder + "layernorm_embedding", {d});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = tiny_encoder + "layers." + std::to_string(i) + ".";
    for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"})
      add_weight_bias(layer + "self_attn." + name, {d, d});
    add(layer + "self_attn.compress_k.weight", {k, n});
    if (value_projection) add(layer + "self_attn.compress_v.weight", {k, n});
    add_weight_bias(layer + "self_attn_layer_norm", {d});
    add_weight_bias(layer + "fc1", {ffn, d});
    add_weight_bias(layer + "fc2", {d, ffn});
    add_weight_bias(layer + "final_layer_norm", {d});
  }
  if (final_norm) add_weight_bias(tiny_encoder + "layer_norm", {d});
  if (masked_lm) {
    add_weight_bias("encoder.lm_head.dense", {d, d});
    add_weight_bias("encoder.lm_head.layer_norm", {d});
    HandTensor tied = made[0];
    tied.name = "encoder.lm_head.weight";
    made.push_back(tied);
    add("encoder.lm_head.bias", {vocabulary});
  }
  return made;
}

HandSettings TinyFairseq::settings() const {
  return {{"encoder_attention_heads", heads},
          {"activation_fn", std::string("gelu")},
          {"pooler_activation_fn", std::string("tanh")},
          {"encoder_layers", layers},
          {"encoder_embed_dim", d},
          {"shared_kv_compressed", int64_t{value_projection ? 0 : 1}},
          {"encoder_normalize_before", final_norm}};
}

HandTensor& named(std::vector<HandTensor>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const HandTensor& t) { return t.name == name; });
  if (found == tensors.end()) throw std::out_of_range("there is no tensor " + name);
  return *found;
}

void remove(std::vector<HandTensor>& tensors, const std::string& name) {
  named(tensors, name);
  std::erase_if(tensors, [&](const HandTensor& tensor) { return tensor.name == name; });
}

std::vector<HandTensor> renamed(std::vector<HandTensor> tensors, const std::string& from, const std::string& to) {
  for (HandTensor& tensor : tensors) {
    const size_t place = tensor.name.find(from);
    if (place != tensor.name.npos) tensor.name.replace(place, from.size(), to);
  }
  return tensors;
}

void add_head(std::vector<HandTensor>& tensors, const std::string& name, int64_t d, int64_t inner, int64_t classes) {
  const std::string prefix = "classification_heads." + name + ".";
  tensors.push_back(random_tensor(prefix + "dense.weight", {inner, d}, 7));
  tensors.push_back(random_tensor(prefix + "dense.bias", {inner}, 7));
  tensors.push_back(random_tensor(prefix + "out_proj.weight", {classes, inner}, 7));
  tensors.push_back(random_tensor(prefix + "out_proj.bias", {classes}, 7));
}

std::string add_spectral_head(std::vector<HandTensor>& tensors) {
  add_head(tensors, "mnli", 8, 8, 3);
  std::string weight = "classification_heads.mnli.out_proj.weight";
  named(tensors, weight).name += "_orig";
  tensors.push_back(random_tensor(weight + "_u", {3}, 7));
  tensors.push_back(random_tensor(weight + "_v", {8}, 8));
  return weight;
}

}  // namespace linformer_test
