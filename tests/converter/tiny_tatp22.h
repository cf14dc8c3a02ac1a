// A small model of linformer-pytorch with random weights, in each of its shapes.
#pragma once

#include <string>
#include <vector>

#include "converter/tiny_fairseq.h"

namespace linformer_test {

struct TinyTatp22 {
  int64_t d = 8, vocabulary = 10, n = 7, k = 3, ffn = 12, depth = 2, heads = 2, head_dim = 4;
  int64_t emb_dim = 0;          // the width of the embedding; if 0, it is d, and there are no projections to and from d
  int64_t output_between = 0;   // w_o_intermediate_dim
  int64_t ff_intermediate = 0;  // width between the layers
  int64_t kernel = 0;           // if above 0, the projections are convolutions
  std::string sharing = "layerwise";
  bool tokens = true, logits = true, feed_forward = true, decoder_mode = false, projections = true, old = false;

  // Returns the tensors. Their names begin with `prefix`, such as "encoder.".
  std::vector<HandTensor> tensors(const std::string& prefix = "") const;
};

}  // namespace linformer_test
