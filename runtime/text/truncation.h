// Computes how many tokens of each text truncation keeps.
#pragma once

#include <cstddef>

#include "linformer/status.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Shortens lengths[0] (and lengths[1] if `pair` is true) so that their sum is at most `room`, as Hugging Face's
// truncate_encodings does. Changes nothing with Truncation::none. If `room` is 0, no tokens are kept. Returns
// invalid_argument if the only text that may be cut is missing or too short. If longest_first cuts both texts of a pair
// and `room` is odd, one text gets one token less: the first if `first_is_shorter` is true, otherwise the second.
Status truncate_lengths(Truncation truncation, size_t room, bool pair, bool first_is_shorter, size_t* lengths);

}  // namespace LINFORMER_NAMESPACE
