// Hash tables whose keys are texts from files.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace linformer::convert {

// A hash function with the seed of the process (converter/seed.h).
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const;
};

// Tables whose keys are views. The texts must outlive the table.
template <class Type>
using ViewMap = std::unordered_map<std::string_view, Type, TextHash, std::equal_to<>>;
using ViewSet = std::unordered_set<std::string_view, TextHash, std::equal_to<>>;
// A table that owns its keys.
template <class Type>
using TextMap = std::unordered_map<std::string, Type, TextHash, std::equal_to<>>;

}  // namespace linformer::convert
