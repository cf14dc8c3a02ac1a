// GPT-2's printable alphabet for bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The printable stand-in for `byte`: itself where Latin-1 has a visible character, otherwise U+0100 and up in order.
uint32_t printable_of(uint8_t byte);

// Appends the printable form of `bytes` as UTF-8; false when there is no memory.
[[nodiscard]] bool append_printable(std::string_view bytes, Array<char>* printable);

}  // namespace LINFORMER_NAMESPACE
