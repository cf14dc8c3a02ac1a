// What fairseq's tensors do not show: settings read from its args or cfg, checked against the tensors.
#pragma once

#include <cstdint>
#include <optional>

#include "converter/dialects/dialect.h"
#include "converter/dialects/head_kind.h"

namespace linformer::convert::fairseq {

// The user's settings, then the checkpoint's own.
Settings settings_of(const Conversion& conversion);

// activation_fn or pooler_activation_fn; `fallback` is fairseq's default, noted when used.
Activation activation_of(const Settings& settings, const char* name, Activation fallback, Report& report);

// shared_kv_compressed: whether values use the keys' projection; nothing when it is not said.
std::optional<bool> shares_key_projection(const Settings& settings);

// What fairseq makes of a classification head's outputs.
KindRule kind_of(const Settings& settings, uint64_t outputs);

// Refuses settings under which fairseq computes something that this dialect does not describe.
void refuse_unsupported(const Settings& settings);

}  // namespace linformer::convert::fairseq
