// Small BERT, RoBERTa and DistilBERT encoders with random weights, as Hugging Face names them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converter/checkpoint_writer.h"

namespace linformer_test {

enum class TinyFamily { bert, roberta, distilbert };

struct TinyHuggingFace {
  TinyFamily family = TinyFamily::bert;
  int64_t d = 8, vocabulary = 11, positions = 9, ffn = 12, layers = 2, heads = 2;
  bool prefixed = true;  // "bert.encoder..." as in models with a head

  std::vector<HandTensor> tensors() const;
  nlohmann::json config() const;
  // Returns "bert.", "roberta." or "distilbert.", or "" if `prefixed` is false.
  std::string prefix() const;
};

// Adds NAME.weight of shape [out, in] and NAME.bias. If `in` is 0, as for a norm, the weight has the shape [out].
void add_weight_bias(std::vector<HandTensor>& tensors, const std::string& name, int64_t out, int64_t in);

}  // namespace linformer_test
