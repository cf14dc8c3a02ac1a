// Makes the options of a session from the options for texts.
#pragma once

#include "linformer/session.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns options whose calls have room for at least `min_sequences` sequences of the longest text: 2 if a head
// compares two texts, otherwise 1. Limits are not checked here; Session::create() returns the error.
SessionOptions session_options_of(const Model& model, const TextOptions& options, int min_sequences);
// Checks options.pad_to, which a session doesn't know. `max_tokens` is the length of the longest text, without the row
// that the model may put before it. Errors: invalid_argument.
Status check_pad_to(const Model& model, const TextOptions& options, int64_t max_tokens);

}  // namespace LINFORMER_NAMESPACE
