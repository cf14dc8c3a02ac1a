#pragma once

#include <string_view>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns whether `text` is well-formed UTF-8 (no overlong forms, surrogates or values beyond U+10FFFF; Unicode 15,
// table 3-7).
bool is_utf8(std::string_view text);
// Returns whether `text` is well-formed UTF-8, isn't empty, has at most max_name_bytes bytes and has no control
// characters. It is then safe to print on a terminal.
bool is_printable_name(std::string_view text);

}  // namespace LINFORMER_NAMESPACE
