// A small fairseq Linformer with random weights, in the layouts of all versions of fairseq.
#pragma once

#include <string>
#include <vector>

#include "converter/checkpoint_writer.h"

namespace linformer_test {

struct TinyFairseq {
  int64_t d = 8, vocabulary = 10, n = 6, k = 2, ffn = 12, layers = 2, heads = 2;
  uint32_t seed = 1;
  bool value_projection = true, masked_lm = true, final_norm = false;

  // Returns the tensors with their names as of 2021-02-16. lm_head.weight is tied: its values equal the embedding's.
  std::vector<HandTensor> tensors() const;
  HandSettings settings() const;
};

inline const std::string tiny_encoder = "encoder.sentence_encoder.";

HandTensor random_tensor(const std::string& name, const std::vector<int64_t>& shape, uint32_t seed);
// Returns the tensor of this name. Throws std::out_of_range if there is none.
HandTensor& named(std::vector<HandTensor>& tensors, const std::string& name);
void remove(std::vector<HandTensor>& tensors, const std::string& name);
// Replaces the first `from` in each name with `to`.
std::vector<HandTensor> renamed(std::vector<HandTensor> tensors, const std::string& from, const std::string& to);
void add_head(std::vector<HandTensor>& tensors, const std::string& name, int64_t d, int64_t inner, int64_t classes);
// Adds a head "mnli" whose last weight has a spectral norm, as torch's spectral_norm() stores it: the weight with the
// suffix "_orig" and its two vectors with the suffixes "_u" and "_v". Returns the weight's name without a suffix.
std::string add_spectral_head(std::vector<HandTensor>& tensors);

}  // namespace linformer_test
