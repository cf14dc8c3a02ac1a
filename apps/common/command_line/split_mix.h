// One step of the generator SplitMix64, for pseudo-random numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace linformer::cli {

inline uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace linformer::cli
