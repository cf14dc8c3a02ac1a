// Memory that detects accesses out of bounds, random data and other helpers for kernel tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "support/guarded_pages.h"

namespace linformer_test {

// An array of `count` elements that ends at an inaccessible page, so that reading or writing one element more faults.
template <class T>
class GuardedArray {
 public:
  explicit GuardedArray(int64_t count) : count_(count) {
    const size_t page = page_bytes();
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    const size_t usable = (bytes + page - 1) / page * page + page;
    mapped_bytes_ = usable;
    mapping_ = map_guarded(usable);
    data_ = reinterpret_cast<T*>(mapping_ + usable - bytes);
    std::memset(mapping_, 0x5a, usable - bytes);
  }
  ~GuardedArray() { unmap_guarded(mapping_, mapped_bytes_); }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return count_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  void fill(T value) {
    for (int64_t i = 0; i < count_; ++i) data_[i] = value;
  }
  // Returns whether the bytes before the first element are unchanged.
  bool front_intact() const {
    for (const char* p = mapping_; p < reinterpret_cast<const char*>(data_); ++p) {
      if (*p != 0x5a) return false;
    }
    return true;
  }

 private:
  int64_t count_;
  size_t mapped_bytes_ = 0;
  char* mapping_ = nullptr;
  T* data_ = nullptr;
};

using Random = std::mt19937;

inline int64_t random_size(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

inline void fill_random(Random& random, float* data, int64_t count, float scale = 1.f) {
  std::uniform_real_distribution<float> values(-scale, scale);
  for (int64_t i = 0; i < count; ++i) data[i] = values(random);
}

// A NaN with mantissa bits that would show if a kernel did integer arithmetic on the exponent.
inline constexpr float quiet_nan = std::bit_cast<float>(0x7fc00001u);

inline bool same_bits(const float* a, const float* b, int64_t count) {
  return count == 0 || std::memcmp(a, b, static_cast<size_t>(count) * sizeof(float)) == 0;
}

// Returns the kernel tables that this machine can run.
inline std::vector<const linformer::Kernels*> all_kernels() {
  std::vector<const linformer::Kernels*> tables;
  for (linformer::Isa isa :
       {linformer::Isa::scalar, linformer::Isa::avx2, linformer::Isa::avx512, linformer::Isa::neon}) {
    if (const linformer::Kernels* table = linformer::kernels_for(isa)) tables.push_back(table);
  }
  return tables;
}

// Returns the index of the element B[i, j] in a matrix of k rows with the layout panel16.
inline int64_t panel_index(linformer::ElementType type, int64_t k, int64_t i, int64_t j) {
  const int64_t together = type == linformer::ElementType::int8 ? 4 : type == linformer::ElementType::bf16 ? 2 : 1;
  const int64_t depth = (k + 16 * together - 1) / (16 * together) * 16 * together;
  return j / 16 * depth * 16 + i / together * together * 16 + j % 16 * together + i % together;
}

inline double apply_activation(linformer::Activation activation, double x) {
  switch (activation) {
    case linformer::Activation::none:
      return x;
    case linformer::Activation::relu:
      return x < 0 ? 0 : x;
    case linformer::Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.));
    case linformer::Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case linformer::Activation::tanh:
      return std::tanh(x);
    case linformer::Activation::leaky_relu:
      return x < 0 ? 0.01 * x : x;
    case linformer::Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case linformer::Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}
inline constexpr linformer::Activation all_activations[] = {
    linformer::Activation::none,      linformer::Activation::relu, linformer::Activation::gelu,
    linformer::Activation::gelu_tanh, linformer::Activation::tanh, linformer::Activation::leaky_relu,
    linformer::Activation::sigmoid,   linformer::Activation::silu};

// Returns the bits of `value` truncated to bf16 or f16, for making weights.
inline uint16_t truncate_to(linformer::ElementType type, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (type == linformer::ElementType::bf16) return static_cast<uint16_t>(bits >> 16);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const int exponent = static_cast<int>(bits >> 23 & 255u) - 127 + 15;
  const uint32_t mantissa = bits >> 13 & 1023u;
  if (exponent >= 31) return static_cast<uint16_t>(sign | 0x7bffu);
  if (exponent > 0) return static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent) << 10 | mantissa);
  return exponent < -10 ? static_cast<uint16_t>(sign)
                        : static_cast<uint16_t>(sign | (mantissa | 1024u) >> (1 - exponent));
}

inline double half_to_double(linformer::ElementType type, uint16_t half) {
  if (type == linformer::ElementType::bf16) {
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(value);
  }
  const int exponent = half >> 10 & 31;
  const double mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(mantissa + 1024, exponent - 25);
}

}  // namespace linformer_test
