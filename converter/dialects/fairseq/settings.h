// The settings that fairseq's tensors do not show, and that its checkpoints have in args or cfg.
#pragma once

#include <cstdint>
#include <optional>

#include "converter/dialects/dialect.h"
#include "converter/dialects/head_kind.h"

namespace linformer::convert::fairseq {

// Returns the user's settings, followed by the checkpoint's own.
Settings settings_of(const Conversion& conversion);

// Returns the value of the setting `name`, which is activation_fn or pooler_activation_fn. If the setting is absent,
// returns `fallback`, which is fairseq's default, and adds a note to the report.
Activation activation_of(const Settings& settings, const char* name, Activation fallback, Report& report);

// Returns whether values use the projection of the keys, which is the setting shared_kv_compressed. Returns nothing if
// it is absent.
std::optional<bool> shares_key_projection(const Settings& settings);

// Returns how fairseq interprets a classification head's outputs.
KindRule head_kind_of(const Settings& settings, uint64_t outputs);

// Throws Error if a setting makes fairseq compute something that this dialect does not support.
void refuse_unsupported(const Settings& settings);

}  // namespace linformer::convert::fairseq
