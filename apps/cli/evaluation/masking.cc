#include "evaluation/masking.h"

namespace linformer::cli {
namespace {

double unit(uint64_t x) { return static_cast<double>(x >> 11) * 0x1p-53; }

int32_t random_id(const MaskRule& rule, uint64_t x) {
  const bool pad = rule.pad_id >= 0 && rule.vocabulary > 1;
  const int32_t id = static_cast<int32_t>(x % (rule.vocabulary - (pad ? 1 : 0)));
  return pad && id >= rule.pad_id ? id + 1 : id;
}

}  // namespace

std::vector<int64_t> mask_tokens(const MaskRule& rule, uint64_t text_index, std::span<const uint8_t> candidates,
                                 std::span<int32_t> ids) {
  const uint64_t text_hash = mix(mix(rule.seed) ^ text_index);
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint64_t h = mix(text_hash ^ i);
    if (candidates[i] == 0 || unit(h) >= rule.rate) continue;
    chosen.push_back(static_cast<int64_t>(i));
    const uint64_t g = mix(h);
    if (unit(g) < 0.8) {
      ids[i] = rule.mask_id;
    } else if (unit(g) < 0.9) {
      ids[i] = random_id(rule, mix(g));
    }
  }
  return chosen;
}

}  // namespace linformer::cli
