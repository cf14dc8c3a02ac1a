// One matrix product: a declaration, random operands in guarded memory, and the answer in double.
#pragma once

#include <algorithm>

#include "backends/backend.h"
#include "kernels/kernel_support.h"

namespace linformer_test {

// The backends that this build has.
inline std::vector<linformer::BackendKind> all_backends() {
  std::vector<linformer::BackendKind> kinds;
  for (linformer::BackendKind kind :
       {linformer::BackendKind::native, linformer::BackendKind::onednn, linformer::BackendKind::openblas}) {
    if (linformer::make_backend(kind, *linformer::kernels_for(linformer::Isa::automatic)).ok()) kinds.push_back(kind);
  }
  return kinds;
}

struct ProductProblem {
  linformer::ProductShape shape;
  int64_t m, n, k, a_stride, b_stride, c_stride, residual_stride;
  float alpha;
  bool residual_is_c;
  GuardedArray<float> a, bias, row_bias, residual, c_before;
  GuardedArray<char> b;
  std::vector<double> b_values;  // [K, N]

  // m, n, k are this call's sizes, within shape_'s.
  ProductProblem(Random& random, const linformer::ProductShape& shape_, int64_t m_, int64_t n_, int64_t k_)
      : shape(shape_),
        m(m_),
        n(n_),
        k(k_),
        a_stride(k + random_size(random, 0, 5)),
        b_stride((shape.layout == linformer::RightLayout::transposed ? k : n) + random_size(random, 0, 5)),
        c_stride(n + random_size(random, 0, 5)),
        residual_stride(n + random_size(random, 0, 5)),
        alpha(random() % 2 == 0 ? 1.f : 0.125f),
        residual_is_c(random() % 2 == 0),
        a((m - 1) * a_stride + k),
        bias(n),
        row_bias(m),
        residual((m - 1) * residual_stride + n),
        c_before((m - 1) * c_stride + n),
        b(right_elements() * linformer::element_bytes(shape.type)),
        b_values(static_cast<size_t>(k * n)) {
    fill_random(random, a.data(), a.size());
    fill_random(random, bias.data(), n);
    fill_random(random, row_bias.data(), m);
    fill_random(random, residual.data(), residual.size());
    c_before.fill(quiet_nan);  // C is read only where it is asked for
    if (shape.accumulate || (shape.residual && residual_is_c)) fill_random(random, c_before.data(), c_before.size());
    fill_right(random);
  }

  linformer::Product product(float* c) const {
    linformer::Product p{m, n, k, a.data(), a_stride, b.data(), b_stride, c, c_stride, {}};
    p.epilogue.alpha = alpha;
    p.epilogue.activation = shape.activation;
    p.epilogue.accumulate = shape.accumulate;
    if (shape.bias) p.epilogue.bias = bias.data();
    if (shape.row_bias) p.epilogue.row_bias = row_bias.data();
    if (shape.residual) {
      p.epilogue.residual = residual_is_c ? c : residual.data();
      p.epilogue.residual_stride = residual_is_c ? c_stride : residual_stride;
    }
    return p;
  }

  // As the products of a session mostly are: no gaps between rows, alpha 1, and the residual is C.
  void make_dense() {
    a_stride = k;
    c_stride = n;
    alpha = 1.f;
    if (shape.residual && !residual_is_c) {
      residual_is_c = true;
      for (int64_t i = 0; i < c_before.size(); ++i) c_before[i] = static_cast<float>(i % 13) * 0.1f;
    }
  }

  // In double, and what rounding may add to it.
  double reference(int64_t i, int64_t j, double* slack) const {
    double sum = 0, magnitude = 0;
    for (int64_t kk = 0; kk < k; ++kk) {
      const double term = static_cast<double>(a[i * a_stride + kk]) * b_values[static_cast<size_t>(kk * n + j)];
      sum += term;
      magnitude += std::abs(term);
    }
    *slack = 6e-8 * (4. + 0.5 * std::sqrt(static_cast<double>(k))) * (magnitude * static_cast<double>(alpha) + 6.);
    double x = static_cast<double>(alpha) * sum;
    if (shape.accumulate) return x + static_cast<double>(c_before[i * c_stride + j]);
    if (shape.row_bias) x += static_cast<double>(row_bias[i]);
    if (shape.bias) x += static_cast<double>(bias[j]);
    x = activated(shape.activation, x);
    if (!shape.residual) return x;
    return x + static_cast<double>(residual_is_c ? c_before[i * c_stride + j] : residual[i * residual_stride + j]);
  }

 private:
  int64_t right_elements() const {
    if (shape.layout == linformer::RightLayout::panel16) return linformer::panel_elements(k, n);
    return shape.layout == linformer::RightLayout::row_major ? (k - 1) * b_stride + n : (n - 1) * b_stride + k;
  }

  int64_t right_index(int64_t i, int64_t j) const {
    if (shape.layout == linformer::RightLayout::panel16) return j / 16 * ((k + 15) / 16 * 256) + i * 16 + j % 16;
    return shape.layout == linformer::RightLayout::row_major ? i * b_stride + j : j * b_stride + i;
  }

  void fill_right(Random& random) {
    std::uniform_real_distribution<float> values(-1.f, 1.f);
    // Padding of panel16 is zero by contract; gaps between plain rows are nobody's business.
    const bool padded = shape.layout == linformer::RightLayout::panel16;
    std::memset(b.data(), padded ? 0 : 0xff, static_cast<size_t>(b.size()));
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const float value = values(random);
        double kept = static_cast<double>(value);
        if (shape.type == linformer::ElementType::f32) {
          std::memcpy(b.data() + right_index(i, j) * 4, &value, 4);
        } else {
          const uint16_t half = truncate_to(shape.type, value);
          std::memcpy(b.data() + right_index(i, j) * 2, &half, 2);
          kept = value_of(shape.type, half);
        }
        b_values[static_cast<size_t>(i * n + j)] = kept;
      }
    }
  }
};

// Scratch exactly as long as the backend asked for.
class Scratch {
 public:
  explicit Scratch(const linformer::Backend& backend)
      : memory_(static_cast<int64_t>((backend.scratch_bytes() + 63) / 64 * 64)) {
    std::memset(memory_.data(), 0xff, static_cast<size_t>(memory_.size()));  // NaN
  }
  void* data() { return memory_.data(); }

 private:
  GuardedArray<char> memory_;
};

}  // namespace linformer_test
