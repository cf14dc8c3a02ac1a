// A random seed for hash tables whose keys come from files. It differs from process to process, so that nobody can make
// a file whose entries collide.
#pragma once

#include <cstdint>
#include <random>

namespace linformer::convert {

inline uint64_t process_seed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

}  // namespace linformer::convert
