// Shapes of models that the format permits but no dialect produces: with empty lists, with one of everything, very
// small or very large ones, and combinations.
#pragma once

#include <cstdint>
#include <string>

#include "support/random_model.h"

namespace linformer_test {

// In what way a shape is unusual. It is chosen by `index` modulo `unusual_kinds`.
enum class Unusual { smallest, largest, empty, shared, mixed, named, grouped, beside, combined };
inline constexpr uint64_t unusual_kinds = 9;
const char* name_of(Unusual kind);

// Depends on `index` alone. Model::load accepts every such model, but a session may refuse it as unsupported.
RandomModel unusual_shape(uint64_t index);

}  // namespace linformer_test
