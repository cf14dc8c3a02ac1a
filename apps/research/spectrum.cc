#include "research/spectrum.h"

#include <algorithm>
#include <numeric>

#include "command_line/errors.h"
#include "research/spectrum_lapack.h"

namespace linformer::research {

int64_t HeadSpectrum::rank_for_share(double wanted_share) const {
  const auto found = std::lower_bound(share.begin(), share.end(), wanted_share);
  // Rounding can make the last share less than 1.
  return std::min<int64_t>(found - share.begin() + 1, static_cast<int64_t>(share.size()));
}

size_t Spectrum::heads() const {
  return std::accumulate(layers.begin(), layers.end(), size_t{0},
                         [](size_t sum, const auto& layer) { return sum + layer.size(); });
}

size_t Spectrum::most_heads() const {
  size_t most = 0;
  for (const auto& layer : layers) most = std::max(most, layer.size());
  return most;
}

std::vector<double> Spectrum::mean_share(size_t layer) const {
  std::vector<double> mean(static_cast<size_t>(rows));
  for (const HeadSpectrum& head : layers[layer]) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += head.share[i] / static_cast<double>(layers[layer].size());
  }
  return mean;
}

SpectrumSum::SpectrumSum(const Model& model, int64_t rows, int threads) : matrices_(model), threads_(threads) {
  const size_t n = static_cast<size_t>(rows);
  sum_.rows = rows;
  for (int l = 0; l < matrices_.layers(); ++l) {
    sum_.layers.emplace_back(static_cast<size_t>(matrices_.heads(l)),
                             HeadSpectrum{std::vector<double>(n), std::vector<double>(n)});
  }
  threads_ = lapack_threads(std::clamp(threads, 1, static_cast<int>(sum_.heads())));
}

void SpectrumSum::add_head(size_t layer, size_t head, const std::vector<double>& values) {
  HeadSpectrum& sum = sum_.layers[layer][head];
  const double all = std::accumulate(values.begin(), values.end(), 0.0);
  double part = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    part += values[i];
    sum.singular_values[i] += values[i];
    sum.share[i] += part / all;  // `all` isn't 0, because each row of P has the sum 1.
  }
}

void SpectrumSum::add(Session* session, Tokens text, const HeadDone& done) {
  matrices_.run(session, text);
  if (matrices_.rows() != sum_.rows) {
    throw cli::DataError("a text has " + std::to_string(matrices_.rows()) + " rows, but all texts must have " +
                         std::to_string(sum_.rows));
  }
  const auto make_task = [&]() -> HeadTask {
    return [this, scratch = AttentionMatrices::Scratch(), matrix = std::vector<double>(),
            lapack_work = std::vector<double>()](size_t layer, size_t head) mutable {
      matrices_.matrix(static_cast<int>(layer), static_cast<int>(head), &scratch, &matrix);
      add_head(layer, head, singular_values(&matrix, sum_.rows, &lapack_work));
    };
  };
  matrices_.for_each_head(threads_, make_task, done);
  ++sum_.texts;
}

Spectrum SpectrumSum::mean() const {
  Spectrum mean = sum_;
  for (auto& layer : mean.layers) {
    for (HeadSpectrum& head : layer) {
      for (double& value : head.singular_values) value /= static_cast<double>(sum_.texts);
      for (double& value : head.share) value /= static_cast<double>(sum_.texts);
    }
  }
  return mean;
}

}  // namespace linformer::research
