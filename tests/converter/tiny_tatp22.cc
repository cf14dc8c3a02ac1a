#include "converter/tiny_tatp22.h"

#include <cmath>

namespace linformer_test {

namespace {

struct Names {
  std::vector<HandTensor> made;

  void add(const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, 5));
  }
  void add_weight_bias(const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  }
  // Adds a weight and a bias of another name with the values of `original`.
  void add_alias(const std::string& name, const std::string& original) {
    for (const char* part : {".weight", ".bias"}) {
      HandTensor alias = named(made, original + part);
      alias.name = name + part;
      made.push_back(alias);
    }
  }
};

}  // namespace

std::vector<HandTensor> TinyTatp22::tensors(const std::string& prefix) const {
  Names names;
  const int64_t width = emb_dim ? emb_dim : d;
  if (tokens) {
    names.add(prefix + "to_token_emb.weight", {vocabulary, width});
    names.add(prefix + "pos_emb.inv_freq", {width / 2});
  }
  std::string stack = prefix + (tokens ? "linformer." : "");
  if (emb_dim) {
    names.add_weight_bias(stack + "project_in", {d, emb_dim});
    names.add_weight_bias(stack + "project_out", {emb_dim, d});
    stack += "fn.";
  }
  int64_t module = 0;
  std::string first_projection;
  const auto add_norm = [&](const std::string& base, int64_t in, int64_t out) {
    names.add_weight_bias(base + (old ? ".fn.norm" : ".norm"), {old ? in : out});
    if (in != out) names.add_weight_bias(base + ".resample", {out, in});
  };
  const auto add_layer = [&](int64_t in, int64_t out) {
    std::string base = stack + "seq." + std::to_string(module++), inner = base + (old ? ".fn.fn." : ".fn.");
    const auto add_projection = [&](const std::string& name) {
      if (kernel) {
        names.add_weight_bias(name, {head_dim, head_dim, kernel});
      } else {
        names.add_weight_bias(name, {k, n});
      }
    };
    for (int64_t head = 0; head < heads; ++head) {
      for (const char* side : {"E", "F"}) {
        if (!projections) continue;
        const std::string heads_name = inner + "heads.", name = heads_name + std::to_string(head) + "." + side;
        const std::string original = sharing == "none"          ? name
                                     : sharing == "headwise"    ? heads_name + "0." + side
                                     : sharing == "kv"          ? heads_name + "0.E"
                                     : first_projection.empty() ? name
                                                                : first_projection;
        if (first_projection.empty()) first_projection = name;
        if (original == name) {
          add_projection(name);
        } else {
          names.add_alias(name, original);
        }
      }
      for (const char* part : {"to_q.", "to_k.", "to_v."}) {
        names.add(inner + part + std::to_string(head) + ".weight", {head_dim, in});
      }
    }
    if (output_between) {
      names.add_weight_bias(inner + "w_o_1", {output_between, heads * head_dim});
      names.add_weight_bias(inner + "w_o_2", {in, output_between});
    } else {
      names.add_weight_bias(inner + "w_o", {in, heads * head_dim});
    }
    add_norm(base, in, in);
    if (!feed_forward) return;
    base = stack + "seq." + std::to_string(module++);
    inner = base + (old ? ".fn.fn." : ".fn.");
    names.add_weight_bias(inner + "w_1", {ffn, in});
    names.add_weight_bias(inner + "w_2", {out, ffn});
    add_norm(base, in, out);
  };
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t between = ff_intermediate ? ff_intermediate : d;
    add_layer(i == 0 ? d : between, i + 1 == depth ? d : between);
    if (decoder_mode) add_layer(d, d);
  }
  if (tokens && logits) names.add_weight_bias(prefix + "to_logits", {vocabulary, width});
  return names.made;
}

}  // namespace linformer_test
