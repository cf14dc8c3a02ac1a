#include "converter/readers/text_map.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "converter/seed.h"

namespace linformer::convert {

size_t TextHash::operator()(std::string_view text) const {
  return XXH3_64bits_withSeed(text.data(), text.size(), process_seed());
}

}  // namespace linformer::convert
