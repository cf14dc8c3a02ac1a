// What torch.save's pickles mean: storages by persistent id, tensors by _rebuild_tensor_v2 and its relatives.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "converter/readers/checkpoint.h"
#include "converter/readers/pickle.h"

namespace linformer::convert {

// Collects what one checkpoint's pickle describes. Storages get their bytes from the reader of the container.
class TorchObjects {
 public:
  explicit TorchObjects(Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  struct StorageRecord {
    std::string key;
    DataType type;
    uint64_t elements;
    std::span<const std::byte> bytes;  // set by the reader
    std::optional<uint32_t> crc32;
  };

  // Runs the pickle at the start of `pickle` and returns its value; `consumed` gets its length.
  Value run(std::span<const std::byte> pickle, uint64_t* consumed);
  std::vector<StorageRecord>& storages() { return storages_; }
  StorageRecord* find_storage(std::string_view key);

  // Finds the state dict in `root` and adds its tensors to the checkpoint. Call once the storages have their bytes.
  void finish(Value root);

 private:
  // Part of a storage: the files before PyTorch 0.4 name views of storages.
  struct StorageView {
    uint32_t storage;
    uint64_t first, elements;
  };
  Value persistent(Value id);
  Value construct(std::string_view name, Value arguments);
  Value rebuild_tensor(Value arguments, size_t fewest, size_t most);
  void add_state_dict(Value dict);

  Checkpoint& checkpoint_;
  std::vector<StorageRecord> storages_;
  std::unordered_map<std::string_view, uint32_t> by_key_;
  std::vector<StorageView> views_;
  std::vector<Tensor> tensors_;  // without names; tensor.storage indexes views_
};

}  // namespace linformer::convert
