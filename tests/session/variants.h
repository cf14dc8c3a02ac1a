// One model of every kind of attention and layer, for what must hold for all of them.
#pragma once

#include <string>
#include <vector>

#include "support/random_model.h"

namespace linformer_test {

struct Variant {
  std::string name;
  RandomModel shape;
  bool masks = false;  // its inputs have masks and pads, which are kept
};

// Each takes texts of up to `n` rows and `n` encoder states and has one head that scores every row. `n_full`, where it
// is given, takes the place of `n` where all attention is full.
std::vector<Variant> variants(uint32_t n, uint32_t n_full = 0);

// The same; under the address sanitizer, which makes sessions many times slower, every third one, beginning with the one
// of index `first`. Tests begin with different ones, so that each variant runs in some of them.
std::vector<Variant> sampled_variants(size_t first, uint32_t n, uint32_t n_full = 0);

}  // namespace linformer_test
