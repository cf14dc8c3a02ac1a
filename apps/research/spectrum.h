// Computes how much of the sum of an attention matrix's singular values the largest ones have, as in figure 1 of Wang
// et al. 2020.
#pragma once

#include <cstdint>
#include <vector>

#include "research/spectrum_attention.h"

namespace linformer::research {

// The singular values of one head, largest first, as means over the texts. `share[i]` is the sum of the first i + 1
// singular values divided by the sum of all.
struct HeadSpectrum {
  std::vector<double> singular_values, share;

  double share_at(int64_t rank) const { return share[static_cast<size_t>(rank - 1)]; }
  // Returns the smallest number of singular values whose share of the sum is at least `wanted_share`.
  int64_t rank_for_share(double wanted_share) const;
};

struct Spectrum {
  int64_t rows = 0;  // The number of rows of each attention matrix.
  int64_t texts = 0;
  std::vector<std::vector<HeadSpectrum>> layers;  // [layer][head]

  size_t heads() const;       // The number of heads of all layers together.
  size_t most_heads() const;  // The number of heads of the layer with the most.
  // Returns the mean of `share` over the heads of a layer.
  std::vector<double> mean_share(size_t layer) const;
};

// Computes the spectrum of a model, and averages it over texts. The heads are divided among `threads` threads.
class SpectrumSum {
 public:
  SpectrumSum(const Model& model, int64_t rows, int threads);
  // Throws DataError if the text doesn't have `rows` rows. Calls `done` after each head.
  void add(Session* session, Tokens text, const HeadDone& done);
  size_t heads() const { return sum_.heads(); }  // The number of calls of `done` in one add().
  // Returns the means over the texts that were added.
  Spectrum mean() const;

 private:
  void add_head(size_t layer, size_t head, const std::vector<double>& values);

  AttentionMatrices matrices_;
  int threads_;
  Spectrum sum_;
};

}  // namespace linformer::research
