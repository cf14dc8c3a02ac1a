// Unicode's normal forms, expressed as changes of a text.
#pragma once

#include "linformer/version.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

// Sets normalized->changes to the changes that turn normalized->characters into their canonical decomposition (the
// compatibility decomposition if `compatibility` is true), recomposed if `composed` is true. Returns false if there is
// no memory, or if the decomposition has more than normalized->limit characters.
[[nodiscard]] bool compute_normal_form(bool compatibility, bool composed, NormalizedText* normalized);

// Applies normalized->changes to normalized->characters. Returns false if there is no memory.
[[nodiscard]] bool apply_changes(NormalizedText* normalized);

// Appends a change (see NormalizedText::Change). Returns false if there is no memory, or if there are already
// normalized->limit changes. In the latter case it sets too_long.
[[nodiscard]] bool push_change(uint32_t code_point, int32_t change, NormalizedText* normalized);

}  // namespace LINFORMER_NAMESPACE
