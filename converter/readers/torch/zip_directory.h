// The directory of a zip archive whose entries are stored uncompressed, to be used in place from a mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/readers/budget.h"

namespace linformer::convert {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> bytes;  // in the mapping
  std::optional<uint32_t> crc32;     // absent where the writer did not compute it (it stores 0)
};

// Follows the central directory and checks that the rest of the file agrees with it. Throws Error for encrypted and
// compressed entries, names that repeat or leave the archive, entries that overlap or reach outside, and headers
// that contradict each other (the classic and the zip64 records, the central and the local headers). `on_compressed`
// is told the name of a compressed entry first, and may throw an error that says more.
// Source: PKWARE APPNOTE 6.3, sections 4.3 and 4.5.3.
// The headers are admitted to the budget.
std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> archive, Budget& budget,
                                         const std::function<void(std::string_view name)>& on_compressed = {});

}  // namespace linformer::convert
