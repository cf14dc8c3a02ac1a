// Which tokens of a text are masked, and what is put in their place: BERT's rule with numbers that anybody can compute
// again. With 64-bit arithmetic that wraps around, and
//
//   mix(x):  x += 0x9E3779B97F4A7C15;  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
//            x = (x ^ x >> 27) * 0x94D049BB133111EB;  return x ^ x >> 31             (SplitMix64's step)
//   unit(x): (x >> 11) / 2^53
//
// the token at `position` (from 0, special tokens counted) of text `text` (from 0) has
//
//   h = mix(mix(mix(seed) ^ text) ^ position),  g = mix(h),  r = mix(g)
//
// It is chosen when unit(h) < rate. Chosen, it becomes the mask where unit(g) < 0.8, id (r mod m) where unit(g) < 0.9,
// and stays as it is otherwise. m is the vocabulary's size; where there is a pad id, one less, and ids from it on are
// counted up by one, so that it is never drawn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "command_line/split_mix.h"

namespace linformer::cli {

struct MaskRule {
  uint64_t seed = 0;
  double rate = 0.15;
  int32_t mask_id = -1, pad_id = -1;  // pad -1: none
  uint32_t vocabulary = 0;
};

// Changes `ids` in place and returns the positions that were chosen. `candidates[i]` 0: never chosen.
std::vector<int64_t> mask_tokens(const MaskRule& rule, uint64_t text, std::span<const uint8_t> candidates,
                                 std::span<int32_t> ids);

}  // namespace linformer::cli
