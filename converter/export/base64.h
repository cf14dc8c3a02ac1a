// Base64 with padding (RFC 4648), for bytes that JSON holds as text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linformer::convert {

std::string to_base64(std::span<const std::byte> bytes);
// Returns the bytes, or nothing if `text` is not exactly what to_base64() returns for some bytes.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace linformer::convert
