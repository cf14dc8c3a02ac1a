// What torch.save's pickles mean: storages by persistent id, tensors by _rebuild_tensor_v2 and its relatives.
#pragma once

#include <string>
#include <vector>

#include "converter/readers/checkpoint.h"
#include "converter/readers/torch/pickle.h"

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
  // What a tensor was rebuilt from: few of them are in the state dict, and only those become a Tensor.
  struct RebuiltTensor {
    uint32_t view;
    uint64_t offset;
    Value shape, strides;
  };
  Value persistent(Value id);
  Value construct(std::string_view name, Value arguments);
  Value rebuild_tensor(Value arguments, size_t fewest, size_t most);
  Tensor tensor_of(const RebuiltTensor& rebuilt, std::string_view name) const;
  void add_state_dict(Value dict);

  Checkpoint& checkpoint_;
  std::vector<StorageRecord> storages_;
  ViewMap<uint32_t> by_key_;
  std::vector<StorageView> views_;
  std::vector<RebuiltTensor> tensors_;
};

}  // namespace linformer::convert
