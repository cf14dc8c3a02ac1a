// Random numbers and choices that depend on a seed alone and are the same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace linformer_test {

class Chance {
 public:
  explicit Chance(uint64_t seed) : generator_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t number() { return generator_(); }
  uint32_t pick(uint32_t low, uint32_t high) { return low + static_cast<uint32_t>(generator_() % (high - low + 1)); }
  bool one_in(uint32_t n) { return generator_() % n == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[generator_() % values.size()];
  }
  std::vector<float> floats(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<double>(generator_() >> 11) * 0x1p-52 - 1);
    return values;
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace linformer_test
