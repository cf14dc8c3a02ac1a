// Reads the directory of a zip archive whose entries are stored uncompressed, so that they can be used in place in a
// mapped file.
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
  std::span<const std::byte> bytes;  // A range of the archive.
  std::optional<uint32_t> crc32;     // Absent if the archive says 0, because its writer did not compute the checksum.
};

// Reads the central directory, and checks that the rest of the file agrees with it (PKWARE APPNOTE 6.3, sections 4.3
// and 4.5.3). Throws Error for encrypted and compressed entries, names that repeat or lead out of the archive, entries
// that overlap or reach outside, and headers that contradict each other (the classic and the zip64 records, the central
// and the local headers). Before the error for a compressed entry, `on_compressed` is called with the entry's name; it
// may throw a more specific error. The headers are admitted to the budget.
std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> archive, Budget& budget,
                                         const std::function<void(std::string_view name)>& on_compressed = {});

}  // namespace linformer::convert
