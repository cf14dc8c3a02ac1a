// Shapes of models that the format permits but no dialect produces: shapes with empty lists, with one of everything,
// very small or very large ones, and combinations.
#pragma once

#include <cstdint>
#include <string>

#include "support/random_model.h"

namespace linformer_test {

// The way in which a shape is unusual. It is chosen by `index` modulo `unusual_kinds`.
enum class Unusual { smallest, largest, empty, shared, mixed, named, grouped, beside, combined };
inline constexpr uint64_t unusual_kinds = 9;
const char* name_of(Unusual kind);

// Returns a shape that depends only on `index`. Model::load accepts every model of these shapes, but a session may
// refuse it as unsupported.
RandomModel unusual_shape(uint64_t index);

}  // namespace linformer_test
