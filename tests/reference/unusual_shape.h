// Models that are valid and that no dialect makes: empty lists, one of everything, the smallest and the largest,
// combinations.
#pragma once

#include <cstdint>
#include <string>

#include "support/random_model.h"

namespace linformer_test {

// What a shape goes to the limits of: `index` modulo their number.
enum class Unusual { smallest, largest, empty, shared, mixed, named, combined };
inline constexpr uint64_t unusual_kinds = 7;
const char* name_of(Unusual kind);

// Depends on `index` alone. Model::load takes such a model; whether a session executes it is another question.
RandomModel unusual_shape(uint64_t index);

}  // namespace linformer_test
