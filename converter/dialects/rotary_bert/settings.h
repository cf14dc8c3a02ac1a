// What config.json of a NomicBERT or GTE says, in transformers' names or in those of the models' own code.
#pragma once

#include <cstdint>

#include "base/description.h"
#include "converter/dialects/settings.h"
#include "linformer/convert.h"

namespace linformer::convert::rotary_bert {

// All functions throw Error that names the setting.

// The name that the settings use: `name`, or where that is absent `own`, of the models' own code.
const char* name_in(const Settings& settings, const char* name, const char* own);

// Throws where a setting asks for what isn't computed here: norms before each half, experts, partly rotated heads, ...
void refuse_unsupported(const Settings& settings);

// How positions turn queries and keys.
struct RotaryRule {
  float base = 0, scale = 1;
};
// `usual`: the base where nothing says one.
RotaryRule rotary_rule(const Settings& settings, uint32_t head_dim, float usual, Report& report);

// What the gate passes through.
Activation gate_activation(const Settings& settings, Activation usual, Report& report);

// N.
uint32_t longest_text(const Settings& settings, int64_t usual, Report& report);

}  // namespace linformer::convert::rotary_bert
