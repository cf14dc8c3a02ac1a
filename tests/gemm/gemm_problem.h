// A GEMM problem: its declaration, random operands in guarded memory, and its result in double precision.
#pragma once

#include <algorithm>

#include "gemm/gemm.h"
#include "kernels/kernel_support.h"

namespace linformer_test {

// Returns the providers that can be created in this build.
inline std::vector<linformer::BackendKind> all_providers() {
  std::vector<linformer::BackendKind> kinds;
  for (linformer::BackendKind kind :
       {linformer::BackendKind::native, linformer::BackendKind::onednn, linformer::BackendKind::openblas}) {
    if (linformer::make_gemm_provider(kind, *linformer::kernels_for(linformer::Isa::automatic)).ok())
      kinds.push_back(kind);
  }
  return kinds;
}

// Returns a declaration with a random layout, type and epilogue.
inline linformer::GemmDesc random_desc(Random& random, int64_t max_m, int64_t n, int64_t k) {
  using namespace linformer;
  GemmDesc desc;
  desc.max_m = max_m;
  desc.n = n;
  desc.k = k;
  desc.layout = static_cast<RightLayout>(random() % 3);
  if (desc.layout != RightLayout::row_major) desc.type = static_cast<ElementType>(random() % 3);
  desc.varying_k = desc.type == ElementType::f32 && desc.layout != RightLayout::panel16 && random() % 2 == 0;
  desc.varying_n = desc.type == ElementType::f32 && desc.layout != RightLayout::panel16 && random() % 2 == 0;
  desc.accumulate = random() % 5 == 0;
  if (!desc.accumulate) {
    desc.activation = random() % 2 == 0 ? Activation::none : all_activations[random() % std::size(all_activations)];
    desc.bias = random() % 2 == 0;
    desc.row_bias = random() % 5 == 0;
    desc.residual = random() % 3 == 0;
  }
  return desc;
}

struct GemmProblem {
  linformer::GemmDesc desc;
  int64_t m, n, k, a_ld, b_ld, c_ld, residual_ld;
  bool residual_is_c;
  GuardedArray<float> a, bias, row_bias, residual, c_before;
  GuardedArray<char> b;
  std::vector<double> b_values;  // [K, N]

  // m_, n_ and k_ are the sizes of one product. They are at most those of desc_, the largest sizes that a product may
  // have.
  GemmProblem(Random& random, const linformer::GemmDesc& desc_, int64_t m_, int64_t n_, int64_t k_)
      : desc(desc_),
        m(m_),
        n(n_),
        k(k_),
        a_ld(k + random_size(random, 0, 5)),
        b_ld((desc.layout == linformer::RightLayout::transposed ? k : n) + random_size(random, 0, 5)),
        c_ld(n + random_size(random, 0, 5)),
        residual_ld(n + random_size(random, 0, 5)),
        residual_is_c(random() % 2 == 0),
        a((m - 1) * a_ld + k),
        bias(n),
        row_bias(m),
        residual((m - 1) * residual_ld + n),
        c_before((m - 1) * c_ld + n),
        b(b_elements() * linformer::element_bytes(desc.type)),
        b_values(static_cast<size_t>(k * n)) {
    fill_random(random, a.data(), a.size());
    fill_random(random, bias.data(), n);
    fill_random(random, row_bias.data(), m);
    fill_random(random, residual.data(), residual.size());
    // C may be read only if the product is added to it or if it is the residual. Otherwise NaN shows that it was read.
    c_before.fill(quiet_nan);
    if (desc.accumulate || (desc.residual && residual_is_c)) fill_random(random, c_before.data(), c_before.size());
    fill_b(random);
  }

  linformer::GemmArgs args(float* c) const {
    linformer::GemmArgs gemm;
    gemm.a = linformer::ConstMatrix{a.data(), m, k, a_ld};
    gemm.b = {b.data(), desc.type, desc.layout, k, n, b_ld};
    gemm.c = linformer::MutableMatrix{c, m, n, c_ld};
    gemm.epilogue.activation = desc.activation;
    gemm.epilogue.accumulate = desc.accumulate;
    if (desc.bias) gemm.epilogue.bias = bias.data();
    if (desc.row_bias) gemm.epilogue.row_bias = row_bias.data();
    if (desc.residual && residual_is_c) gemm.epilogue.residual = gemm.c.floats();
    if (desc.residual && !residual_is_c) gemm.epilogue.residual = {residual.data(), m, n, residual_ld};
    return gemm;
  }

  // Removes the gaps between rows and makes C the residual, as in most GEMMs of a session.
  void make_dense() {
    a_ld = k;
    c_ld = n;
    if (desc.residual && !residual_is_c) {
      residual_is_c = true;
      for (int64_t i = 0; i < c_before.size(); ++i) c_before[i] = static_cast<float>(i % 13) * 0.1f;
    }
  }

  // Returns C[i, j] in double precision. *slack gets the largest rounding error that a float result may have.
  double reference(int64_t i, int64_t j, double* slack) const {
    double sum = 0, magnitude = 0;
    for (int64_t kk = 0; kk < k; ++kk) {
      const double term = static_cast<double>(a[i * a_ld + kk]) * b_values[static_cast<size_t>(kk * n + j)];
      sum += term;
      magnitude += std::abs(term);
    }
    *slack = 6e-8 * (4. + 0.5 * std::sqrt(static_cast<double>(k))) * (magnitude + 6.);
    double x = sum;
    if (desc.accumulate) return x + static_cast<double>(c_before[i * c_ld + j]);
    if (desc.row_bias) x += static_cast<double>(row_bias[i]);
    if (desc.bias) x += static_cast<double>(bias[j]);
    x = apply_activation(desc.activation, x);
    if (!desc.residual) return x;
    return x + static_cast<double>(residual_is_c ? c_before[i * c_ld + j] : residual[i * residual_ld + j]);
  }

 private:
  int64_t b_elements() const {
    if (desc.layout == linformer::RightLayout::panel16) return linformer::panel_elements(desc.type, k, n);
    return desc.layout == linformer::RightLayout::row_major ? (k - 1) * b_ld + n : (n - 1) * b_ld + k;
  }

  int64_t b_index(int64_t i, int64_t j) const {
    if (desc.layout == linformer::RightLayout::panel16) return panel_index(desc.type, k, i, j);
    return desc.layout == linformer::RightLayout::row_major ? i * b_ld + j : j * b_ld + i;
  }

  void fill_b(Random& random) {
    std::uniform_real_distribution<float> values(-1.f, 1.f);
    // The padding of panel16 must be zero by contract. The gaps between rows of the other layouts are filled with NaN,
    // because they must not be read.
    const bool padded = desc.layout == linformer::RightLayout::panel16;
    std::memset(b.data(), padded ? 0 : 0xff, static_cast<size_t>(b.size()));
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const float value = values(random);
        double kept = static_cast<double>(value);
        if (desc.type == linformer::ElementType::f32) {
          std::memcpy(b.data() + b_index(i, j) * 4, &value, 4);
        } else {
          const uint16_t half = truncate_to(desc.type, value);
          std::memcpy(b.data() + b_index(i, j) * 2, &half, 2);
          kept = half_to_double(desc.type, half);
        }
        b_values[static_cast<size_t>(i * n + j)] = kept;
      }
    }
  }
};

// Scratch memory of the size that the provider requires, rounded up to 64 bytes.
class Scratch {
 public:
  explicit Scratch(const linformer::GemmProvider& provider)
      : memory_(static_cast<int64_t>((provider.scratch_bytes() + 63) / 64 * 64)) {
    std::memset(memory_.data(), 0xff, static_cast<size_t>(memory_.size()));  // NaN
  }
  void* data() { return memory_.data(); }

 private:
  GuardedArray<char> memory_;
};

}  // namespace linformer_test
