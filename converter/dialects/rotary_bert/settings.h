// Reads the settings in config.json of a NomicBERT or GTE. The settings have transformers' names or those of the
// models' own code.
#pragma once

#include <cstdint>

#include "base/description.h"
#include "converter/dialects/settings.h"
#include "linformer/convert.h"

namespace linformer::convert::rotary_bert {

// All functions throw Error that names the setting.

// Returns the name under which the settings have a value: `transformers_name`, or `own_name`, the name in the models'
// own code, if only that is present.
const char* name_in_settings(const Settings& settings, const char* transformers_name, const char* own_name);

// Throws Error if a setting asks for a computation that is not supported, such as norms before each sublayer, experts
// or partly rotated heads.
void refuse_unsupported(const Settings& settings);

// The base of the rotary positions, and the factor by which positions are multiplied.
struct RotaryRule {
  float base = 0, scale = 1;
};
// Returns the rule that the settings give. `usual` is the base if no setting gives one.
RotaryRule rotary_rule(const Settings& settings, uint32_t head_dim, float usual, Report& report);

// Returns the activation of the gate, or `usual` if no setting gives one.
Activation gate_activation(const Settings& settings, Activation usual, Report& report);

// Returns N. If no setting gives it, it is `usual`.
uint32_t longest_text(const Settings& settings, int64_t usual, Report& report);

}  // namespace linformer::convert::rotary_bert
