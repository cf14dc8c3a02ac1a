// Tests files whose structure and checksums are right and whose meaning isn't. Each file has one defect.
#pragma once

#include <functional>
#include <limits>
#include <span>

#include "base/description.h"

namespace linformer_test {

struct Attack {
  const char* name;
  const char* sentence;  // a part of the error, or "" if the file is valid and loads
  std::function<void(linformer::ModelDescription&)> apply;
};

// Applies each attack to the description of the tiny model, and loads the file. The tensor segment stays as it is.
void run_attacks(const char* kind, std::span<const Attack> attacks);

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

inline linformer::TensorDescription& tensor(linformer::ModelDescription& m, linformer::TensorIndex index) {
  return m.tensors[static_cast<size_t>(index)];
}

}  // namespace linformer_test
