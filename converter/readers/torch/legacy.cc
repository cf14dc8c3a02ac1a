// Reads files of torch.save before PyTorch 1.6. Such a file consists of five pickles (the magic number, the version of
// the protocol, facts about the system, the object, the keys of the storages). For each key, the number of elements
// (int64) and the raw elements follow.
#include "base/checked.h"
#include "converter/readers/bytes.h"
#include "converter/readers/error.h"
#include "converter/readers/torch/objects.h"

namespace linformer::convert {

namespace {

constexpr std::string_view magic_number("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);  // In little-endian order.
constexpr int64_t legacy_protocol = 1001;

Value next_pickle(TorchObjects& objects, std::span<const std::byte>* rest) {
  uint64_t consumed = 0;
  const Value value = objects.run(*rest, &consumed);
  *rest = rest->subspan(consumed);
  return value;
}

}  // namespace

void read_torch_legacy(std::span<const std::byte> bytes, Checkpoint& checkpoint) {
  checkpoint.format = "PyTorch legacy";
  TorchObjects objects(checkpoint);
  std::span<const std::byte> rest = bytes;
  const Value magic = next_pickle(objects, &rest);
  if (!magic.is(ValueKind::big_integer) || magic.text() != magic_number) {
    fail("this is a pickle but not one of torch.save: save the model's state_dict with torch.save");
  }
  const std::optional<int64_t> protocol = next_pickle(objects, &rest).integer();
  if (protocol != legacy_protocol)
    fail("the checkpoint's protocol is not ", legacy_protocol, ", the only one of this format");
  const Value system = next_pickle(objects, &rest);
  if (system.find("little_endian").boolean() != true) fail("the checkpoint was not written by a little-endian machine");
  const Value root = next_pickle(objects, &rest);
  const Value keys = next_pickle(objects, &rest);
  if (!keys.is(ValueKind::list)) fail("the list of storage keys is a ", keys.kind_name());

  size_t filled = 0;
  for (const Value& key : keys.items()) {
    TorchObjects::StorageRecord* storage = key.is(ValueKind::text) ? objects.find_storage(key.text()) : nullptr;
    if (storage == nullptr) fail("the list of storages names ", quote(key.text()), ", which no tensor uses");
    if (storage->bytes.data() != nullptr) fail("the list of storages names ", quote(key.text()), " twice");
    if (rest.size() < 8) fail("the file ends before storage ", quote(key.text()), ": it is truncated");
    const uint64_t elements = load<uint64_t>(rest.data());
    rest = rest.subspan(8);
    uint64_t size = 0;
    if (elements != storage->elements || !checked_mul(elements, data_type_bytes(storage->type), &size)) {
      fail("storage ", quote(key.text()), " has ", elements, " elements, but ", storage->elements, " are expected");
    }
    if (size > rest.size()) fail("the file ends within storage ", quote(key.text()), ": it is truncated");
    storage->bytes = rest.first(size);
    rest = rest.subspan(size);
    ++filled;
  }
  if (filled != objects.storages().size()) fail("the file lacks storages that its tensors use: it is incomplete");
  if (!rest.empty()) fail("the file holds ", rest.size(), " bytes beyond its last storage");
  objects.find_and_add_state_dict(root);
}

}  // namespace linformer::convert
