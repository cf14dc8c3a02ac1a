// How many tokens of each text stay.
#pragma once

#include <cstddef>

#include "linformer/status.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Shortens lengths[0] (and lengths[1] when `pair`) so that their sum is at most `room`, as Hugging Face's
// truncate_encodings does. invalid_argument when the text that must give way is too short.
// Of a pair `first_is_shorter` says which text loses the odd token when longest_first cuts both.
Status truncate_lengths(Truncation truncation, size_t room, bool pair, bool first_is_shorter, size_t* lengths);

}  // namespace LINFORMER_NAMESPACE
