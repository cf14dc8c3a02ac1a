// Unicode's normal forms, expressed as changes of a text.
#pragma once

#include "linformer/version.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

// Sets normalized->changes to the decomposition of normalized->characters, recomposed if `composed` is true. Returns
// false if there is no memory, or if the result exceeds normalized->limit.
[[nodiscard]] bool to_normal_form(bool compatibility, bool composed, NormalizedText* normalized);

// Applies normalized->changes to normalized->characters. Returns false if there is no memory.
[[nodiscard]] bool apply_changes(NormalizedText* normalized);

// Appends a change (see NormalizedText::Change). Returns false if there is no memory, or if normalized->limit is
// reached; too_long is then set.
[[nodiscard]] bool push_change(uint32_t code_point, int32_t change, NormalizedText* normalized);

}  // namespace LINFORMER_NAMESPACE
