// Reads files of torch.save since PyTorch 1.6: zip archives that contain FOLDER/data.pkl, and FOLDER/data/KEY for each
// storage.
#include <string_view>

#include "base/checked.h"
#include "converter/readers/crc32.h"
#include "converter/readers/error.h"
#include "converter/readers/torch/objects.h"
#include "converter/readers/torch/zip_directory.h"

namespace linformer::convert {

namespace {

constexpr uint64_t max_pickle = uint64_t{256} << 20;  // In bytes. Real pickles have some kilobytes for each layer.

std::string_view as_text(const ZipEntry& entry) {
  return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
}

void check_crc(const ZipEntry& entry) {
  if (entry.crc32 && *entry.crc32 != crc32(entry.bytes)) {
    fail("the zip entry ", quote(entry.name),
         " does not match its checksum: the file is damaged, copy or download it again");
  }
}

// Throws Error for an archive of torch.jit.save. Such an archive is a program, with compressed code beside the tensors.
[[noreturn]] void refuse_torch_script(const std::string& path) {
  fail("this is a TorchScript archive, which is a program: save the state_dict and convert that, with python3 -c ",
       "'import torch; torch.save(torch.jit.load(", quote(path),
       ", map_location=\"cpu\").state_dict(), \"weights.pt\")'");
}

}  // namespace

void read_torch_zip(std::span<const std::byte> bytes, Checkpoint& checkpoint) {
  checkpoint.format = "PyTorch zip";
  const std::vector<ZipEntry> entries =
      read_zip_directory(bytes, checkpoint.budget(), [&](std::string_view compressed) {
        if (compressed.find("/code/") != compressed.npos) refuse_torch_script(checkpoint.name);
      });
  ViewMap<const ZipEntry*> by_name;
  const ZipEntry* pickle = nullptr;
  for (const ZipEntry& entry : entries) {
    by_name.emplace(entry.name, &entry);
    const size_t slash = entry.name.find('/');
    if (slash == std::string::npos || entry.name.substr(slash) != "/data.pkl") continue;
    if (pickle != nullptr) fail("the zip archive has two pickles, ", quote(pickle->name), " and ", quote(entry.name));
    pickle = &entry;
  }
  if (pickle == nullptr) fail("the zip archive has no file FOLDER/data.pkl: torch.save did not write it");
  const std::string top = pickle->name.substr(0, pickle->name.size() - std::string_view("data.pkl").size());
  const auto named = [&](const std::string& name) -> const ZipEntry* {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  };
  if (named(top + "constants.pkl") != nullptr) refuse_torch_script(checkpoint.name);
  if (const ZipEntry* order = named(top + "byteorder")) {
    check_crc(*order);
    if (as_text(*order) != "little")
      fail("the storages are ", quote(as_text(*order)), "-endian; only little is supported");
  }
  if (pickle->bytes.size() > max_pickle)
    fail("the pickle has ", pickle->bytes.size(), " bytes; at most ", max_pickle, " are read");
  check_crc(*pickle);

  TorchObjects objects(checkpoint);
  uint64_t consumed = 0;
  const Value root = objects.run(pickle->bytes, &consumed);
  if (consumed != pickle->bytes.size())
    fail("the pickle ends at byte ", consumed, " of ", pickle->bytes.size(), ": the file is damaged");
  for (TorchObjects::StorageRecord& storage : objects.storages()) {
    const ZipEntry* entry = named(top + "data/" + storage.key);
    if (entry == nullptr) fail("storage ", quote(storage.key), " is not in the zip archive: the file is incomplete");
    uint64_t needed = 0;
    if (!checked_mul(storage.elements, data_type_bytes(storage.type), &needed) || entry->bytes.size() != needed) {
      fail("storage ", quote(storage.key), " has ", entry->bytes.size(), " bytes where ", storage.elements,
           " elements of ", data_type_name(storage.type), " are expected");
    }
    storage.bytes = entry->bytes;
    storage.crc32 = entry->crc32;
  }
  objects.find_and_add_state_dict(root);
}

}  // namespace linformer::convert
