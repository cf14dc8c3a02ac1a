#include "converter/readers/torch/zip_directory.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/checked.h"
#include "converter/readers/bytes.h"
#include "converter/readers/error.h"
#include "converter/readers/text_map.h"

namespace linformer::convert {

namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50, end_signature = 0x06054b50,
                   zip64_end_signature = 0x06064b50, zip64_locator_signature = 0x07064b50;
constexpr uint64_t local_size = 30, central_size = 46, end_size = 22, zip64_end_size = 56, zip64_locator_size = 20;
constexpr uint16_t flag_sizes_follow = 1u << 3, flag_utf8 = 1u << 11;
constexpr uint16_t zip64_extra = 0x0001;
constexpr uint64_t max_entries = 1u << 20;

struct Directory {
  uint64_t entries, offset, bytes;
};

// Throws Error unless the value of the classic record equals that of the zip64 record, or is the mark that refers to
// the zip64 record.
void check_agrees_with_zip64(uint64_t classic, uint64_t mark, uint64_t wide, const char* what) {
  if (classic != wide && classic != mark) {
    fail("the zip archive's end record says ", classic, " for the ", what, ", but its zip64 record says ", wide);
  }
}

Directory find_directory(Bytes archive) {
  if (archive.size() < end_size) fail("the file is too short for a zip archive: it is truncated");
  const uint64_t end_offset = archive.size() - end_size;
  const std::byte* end = archive.data() + end_offset;
  if (load<uint32_t>(end) != end_signature) {
    fail("the zip archive's end record is not at the end of the file: it is truncated or has data appended");
  }
  if (load<uint16_t>(end + 20) != 0)
    fail("the zip archive has a comment, which torch.save never writes: save it again");
  if (load<uint16_t>(end + 4) != 0 || load<uint16_t>(end + 6) != 0) fail("the zip archive spans several volumes");
  const uint64_t classic_entries = load<uint16_t>(end + 10), classic_bytes = load<uint32_t>(end + 12),
                 classic_offset = load<uint32_t>(end + 16);
  if (load<uint16_t>(end + 8) != classic_entries) fail("the zip archive spans several volumes");

  Directory directory{classic_entries, classic_offset, classic_bytes};
  uint64_t directory_end = end_offset;
  if (end_offset >= zip64_locator_size && load<uint32_t>(end - zip64_locator_size) == zip64_locator_signature) {
    const std::byte* locator = end - zip64_locator_size;
    const uint64_t locator_offset = end_offset - zip64_locator_size;
    const uint64_t wide_offset = load<uint64_t>(locator + 8);
    if (load<uint32_t>(locator + 4) != 0 || load<uint32_t>(locator + 16) != 1)
      fail("the zip archive spans several volumes");
    if (!range_within(wide_offset, zip64_end_size, locator_offset) || wide_offset + zip64_end_size != locator_offset) {
      fail("the zip archive's zip64 locator points to byte ", wide_offset, ", where there is no zip64 record");
    }
    const std::byte* wide = archive.data() + wide_offset;
    if (load<uint32_t>(wide) != zip64_end_signature || load<uint64_t>(wide + 4) != zip64_end_size - 12) {
      fail("the zip archive's zip64 end record is damaged");
    }
    directory = {load<uint64_t>(wide + 32), load<uint64_t>(wide + 48), load<uint64_t>(wide + 40)};
    if (load<uint32_t>(wide + 16) != 0 || load<uint32_t>(wide + 20) != 0 ||
        load<uint64_t>(wide + 24) != directory.entries) {
      fail("the zip archive spans several volumes");
    }
    check_agrees_with_zip64(classic_entries, 0xffff, directory.entries, "number of entries");
    check_agrees_with_zip64(classic_bytes, 0xffffffff, directory.bytes, "size of the directory");
    check_agrees_with_zip64(classic_offset, 0xffffffff, directory.offset, "offset of the directory");
    directory_end = wide_offset;
  }
  if (!range_within(directory.offset, directory.bytes, directory_end) ||
      directory.offset + directory.bytes != directory_end) {
    fail("the zip archive's directory is said to be ", directory.bytes, " bytes at ", directory.offset,
         ", which does not end where its end record begins (", directory_end, ")");
  }
  if (directory.entries > max_entries || directory.entries > directory.bytes / central_size) {
    fail("the zip archive claims ", directory.entries, " entries, more than its directory can hold");
  }
  return directory;
}

void check_name(std::string_view name) {
  const std::string shown = quote(name);
  if (name.empty()) fail("a zip entry has an empty name: the file is damaged, copy or download it again");
  if (name[0] == '/' || name.find('\\') != name.npos || name.find('\0') != name.npos) {
    fail("the zip entry ", shown, " does not have a plain relative name");
  }
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    const bool directory_mark = part.empty() && begin == name.size() && begin > 0;
    if ((part.empty() && !directory_mark) || part == "." || part == "..") {
      fail("the zip entry ", shown, " does not have a plain relative name");
    }
    begin = end + 1;
  }
}

struct Extent {
  // In bytes: the compressed and the uncompressed size of the data, and the offset of the local header.
  uint64_t stored, size, offset;
};

// Replaces each field whose value refers to the zip64 extra field by the value in that field.
void widen(Bytes extra, Extent* extent, const std::string& shown) {
  const bool wide_size = extent->size == 0xffffffff, wide_stored = extent->stored == 0xffffffff,
             wide_offset = extent->offset == 0xffffffff;
  bool found = false;
  while (extra.size() >= 4) {
    const uint16_t id = load<uint16_t>(extra.data()), bytes = load<uint16_t>(extra.data() + 2);
    if (!range_within(4, bytes, extra.size())) fail("the zip entry ", shown, " has a damaged extra field");
    if (id == zip64_extra) {
      if (found) fail("the zip entry ", shown, " has two zip64 fields");
      found = true;
      const uint16_t needed = static_cast<uint16_t>(8 * (wide_size + wide_stored + wide_offset));
      if (bytes < needed) fail("the zip entry ", shown, " has a zip64 field that is too short");
      const std::byte* field = extra.data() + 4;
      const auto take = [&field](uint64_t* value) {
        *value = load<uint64_t>(field);
        field += 8;
      };
      if (wide_size) take(&extent->size);
      if (wide_stored) take(&extent->stored);
      if (wide_offset) take(&extent->offset);
    }
    extra = extra.subspan(4 + size_t{bytes});
  }
  if ((wide_size || wide_stored || wide_offset) && !found) fail("the zip entry ", shown, " lacks its zip64 field");
}

void check_method(uint16_t flags, uint16_t method, const std::string& shown) {
  if (flags & 0x2041) fail("the zip entry ", shown, " is encrypted: save the checkpoint without encryption");
  if (flags & ~(flag_sizes_follow | flag_utf8)) fail("the zip entry ", shown, " has flags that torch.save never sets");
  if (method != 0)
    fail("the zip entry ", shown,
         " is compressed, but torch.save never compresses: pack the archive again without compression (zip -0)");
}

// Compares the local header of an entry with the central one, and returns the offset of the entry's data. Throws Error
// if the headers differ.
uint64_t check_local(Bytes archive, const Directory& directory, const std::byte* central, const Extent& extent,
                     std::string_view name, const std::string& shown) {
  if (!range_within(extent.offset, local_size, directory.offset))
    fail("the zip entry ", shown, " lies outside the archive");
  const std::byte* local = archive.data() + extent.offset;
  if (load<uint32_t>(local) != local_signature)
    fail("the zip entry ", shown, " has no header where the directory says");
  const uint16_t name_bytes = load<uint16_t>(local + 26), extra_bytes = load<uint16_t>(local + 28);
  if (!range_within(extent.offset + local_size, uint64_t{name_bytes} + extra_bytes, directory.offset)) {
    fail("the zip entry ", shown, " has a local header that reaches outside the archive");
  }
  const uint16_t flags = load<uint16_t>(local + 6);
  const std::string_view local_name(reinterpret_cast<const char*>(local) + local_size, name_bytes);
  if (local_name != name || flags != load<uint16_t>(central + 8) ||
      load<uint16_t>(local + 8) != load<uint16_t>(central + 10)) {
    fail("the zip entry ", shown, " is described differently by its local header");
  }
  Extent claimed{load<uint32_t>(local + 18), load<uint32_t>(local + 22), 0};
  const uint32_t claimed_crc = load<uint32_t>(local + 14);
  const bool sizes_follow = (flags & flag_sizes_follow) && claimed.stored == 0 && claimed.size == 0;
  if (!sizes_follow) {
    if (claimed.stored == 0xffffffff || claimed.size == 0xffffffff) {
      widen(archive.subspan(extent.offset + local_size + name_bytes, extra_bytes), &claimed, shown);
    }
    if (claimed.stored != extent.stored || claimed.size != extent.size || claimed_crc != load<uint32_t>(central + 16)) {
      fail("the zip entry ", shown, " has another size or checksum in its local header");
    }
  } else if (claimed_crc != 0 && claimed_crc != load<uint32_t>(central + 16)) {
    fail("the zip entry ", shown, " has another checksum in its local header");
  }
  return extent.offset + local_size + name_bytes + extra_bytes;
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(Bytes archive, Budget& budget,
                                         const std::function<void(std::string_view name)>& on_compressed) {
  const Directory directory = find_directory(archive);
  std::vector<ZipEntry> entries;
  // For each entry, the offset of its local header and the offset of the end of its data.
  std::vector<std::pair<uint64_t, uint64_t>> extents;
  ViewSet names;
  Bytes rest = archive.subspan(directory.offset, directory.bytes);
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < central_size || load<uint32_t>(rest.data()) != central_signature) {
      fail("the zip archive's directory is damaged at entry ", i);
    }
    const std::byte* central = rest.data();
    const uint64_t name_bytes = load<uint16_t>(central + 28), extra_bytes = load<uint16_t>(central + 30),
                   comment_bytes = load<uint16_t>(central + 32);
    const uint64_t record = central_size + name_bytes + extra_bytes + comment_bytes;
    if (record > rest.size()) fail("the zip archive's directory is damaged at entry ", i);
    const std::string_view name(reinterpret_cast<const char*>(central) + central_size, name_bytes);
    budget.raise_limits(record);
    budget.charge_memory(sizeof(ZipEntry) + name_bytes);
    budget.charge_steps(1);
    const std::string shown = quote(name);
    check_name(name);
    if (on_compressed && load<uint16_t>(central + 10) != 0) on_compressed(name);
    check_method(load<uint16_t>(central + 8), load<uint16_t>(central + 10), shown);
    if (load<uint16_t>(central + 34) != 0) fail("the zip entry ", shown, " is on another volume");
    if (!names.insert(name).second) fail("the zip archive has two entries named ", shown);
    Extent extent{load<uint32_t>(central + 20), load<uint32_t>(central + 24), load<uint32_t>(central + 42)};
    widen(rest.subspan(central_size + name_bytes, extra_bytes), &extent, shown);
    if (extent.stored != extent.size)
      fail("the zip entry ", shown, " is stored but its two sizes differ: the file is damaged");
    const uint64_t begin = check_local(archive, directory, central, extent, name, shown);
    if (!range_within(begin, extent.size, directory.offset))
      fail("the zip entry ", shown, " reaches outside the archive");
    if (name.back() == '/' && extent.size != 0) fail("the zip entry ", shown, " is a folder with contents");
    extents.emplace_back(extent.offset, begin + extent.size);
    const uint32_t crc = load<uint32_t>(central + 16);
    entries.push_back({std::string(name), archive.subspan(begin, extent.size),
                       crc != 0 ? std::optional<uint32_t>(crc) : std::nullopt});
    rest = rest.subspan(record);
  }
  if (!rest.empty()) {
    fail("the zip archive's directory holds ", rest.size(),
         " bytes beyond its entries: the file is damaged, copy or download it again");
  }
  std::sort(extents.begin(), extents.end());
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].first < extents[i - 1].second) fail("the zip archive has entries that overlap");
  }
  return entries;
}

}  // namespace linformer::convert
