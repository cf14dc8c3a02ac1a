// One model of every kind of attention and layer, for tests of properties that all of them must have.
#pragma once

#include <string>
#include <vector>

#include "support/random_model.h"

namespace linformer_test {

struct Variant {
  std::string name;
  RandomModel shape;
  bool masks = false;  // Whether its inputs have masks, and padding that is kept.
};

// Returns all variants. Each takes texts of up to `n` rows and `n` encoder states, and has one head that scores every
// row. If `n_full` isn't 0, it replaces `n` in models with only full attention.
std::vector<Variant> variants(uint32_t n, uint32_t n_full = 0);

// Returns all variants. Under the address sanitizer, which makes sessions many times slower, it returns every third
// one, beginning with index `first`. Tests begin with different ones, so that each variant runs in some test.
std::vector<Variant> sampled_variants(size_t first, uint32_t n, uint32_t n_full = 0);

}  // namespace linformer_test
