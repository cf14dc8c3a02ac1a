// Unicode's normal forms as changes of a text.
#pragma once

#include "linformer/version.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

// Fills normalized->changes with the decomposition of normalized->characters, recomposed where asked for.
// False when there is no memory or the limit is reached.
[[nodiscard]] bool to_normal_form(bool compatibility, bool composed, NormalizedText* normalized);

// Replaces normalized->characters by what its changes say.
[[nodiscard]] bool apply_changes(NormalizedText* normalized);

[[nodiscard]] bool push_change(uint32_t code_point, int32_t change, NormalizedText* normalized);

}  // namespace LINFORMER_NAMESPACE
