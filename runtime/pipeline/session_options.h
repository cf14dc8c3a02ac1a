// The session that runs texts, from the options of those who read them.
#pragma once

#include "linformer/session.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// For calls that can hold `sequences` of the longest text: 2 where a head compares two. The session refuses limits that
// are out of range.
SessionOptions session_options_of(const Model& model, const TextOptions& options, int sequences);
// Checks pad_to, which the session doesn't know. `max_tokens`: without what the model puts before a text.
Status check_pads(const Model& model, const TextOptions& options, int64_t max_tokens);

}  // namespace LINFORMER_NAMESPACE
