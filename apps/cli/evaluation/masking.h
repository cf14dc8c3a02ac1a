// Chooses the tokens of a text to mask and their replacements by BERT's rule. The pseudo-random numbers are defined
// here exactly, so that other programs can compute the same choice. In 64-bit arithmetic that wraps around, with
//
//   mix(x):  x += 0x9E3779B97F4A7C15;  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
//            x = (x ^ x >> 27) * 0x94D049BB133111EB;  return x ^ x >> 31             (SplitMix64's step)
//   unit(x): (x >> 11) / 2^53
//
// these numbers belong to the token at `position` (from 0, special tokens counted) of text number `text` (from 0):
//
//   h = mix(mix(mix(seed) ^ text) ^ position),  g = mix(h),  r = mix(g)
//
// The token is chosen if unit(h) < rate. A chosen token becomes the mask if unit(g) < 0.8, the id (r mod m) if 0.8 <=
// unit(g) < 0.9, and otherwise stays as it is. m is the size of the vocabulary. If there is a pad id, m is one less,
// and 1 is added to an id (r mod m) from the pad id on, so that the pad id is never drawn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "command_line/split_mix.h"

namespace linformer::cli {

struct MaskRule {
  uint64_t seed = 0;
  double rate = 0.15;
  int32_t mask_id = -1, pad_id = -1;  // A pad_id of -1 means that there is none.
  uint32_t vocabulary = 0;
};

// Changes `ids` in place and returns the positions that were chosen. Token i is never chosen if candidates[i] is 0.
std::vector<int64_t> mask_tokens(const MaskRule& rule, uint64_t text_index, std::span<const uint8_t> candidates,
                                 std::span<int32_t> ids);

}  // namespace linformer::cli
