// GPT-2's printable alphabet for bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns the printable character that stands for `byte`: the byte itself if Latin-1 has a visible character there,
// otherwise the next code point from U+0100 on.
uint32_t printable_code_point(uint8_t byte);

// Appends the printable form of `bytes` as UTF-8. Returns false if there is no memory.
[[nodiscard]] bool append_printable(std::string_view bytes, Array<char>* printable);

}  // namespace LINFORMER_NAMESPACE
