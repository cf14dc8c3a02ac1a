// How much of an attention matrix its largest singular values hold: figure 1 of Wang et al. 2020.
#pragma once

#include <cstdint>
#include <vector>

#include "research/spectrum_attention.h"

namespace linformer::research {

// Means over the texts. `share[i]`: the first i + 1 singular values' part of their sum.
struct HeadSpectrum {
  std::vector<double> singular_values, share;

  double share_at(int64_t rank) const { return share[static_cast<size_t>(rank - 1)]; }
  // The fewest singular values that have `wanted` of the sum.
  int64_t rank_for(double wanted) const;
};

struct Spectrum {
  int64_t rows = 0;  // of each matrix
  int64_t texts = 0;
  std::vector<std::vector<HeadSpectrum>> layers;  // [layer][head]

  size_t heads() const;  // of all layers
  size_t most_heads() const;
  // Mean of `share` over a layer's heads.
  std::vector<double> mean_share(size_t layer) const;
};

// The spectrum of texts of `rows` rows each, on `threads` threads.
class SpectrumSum {
 public:
  SpectrumSum(const Model& model, int64_t rows, int threads);
  void add(Session* session, Tokens text, const HeadDone& done);
  size_t heads() const { return sum_.heads(); }  // that add() goes through
  // The mean of what was added.
  Spectrum mean() const;

 private:
  void add_head(size_t layer, size_t head, const std::vector<double>& values);

  AttentionMatrices matrices_;
  int threads_;
  Spectrum sum_;
};

}  // namespace linformer::research
