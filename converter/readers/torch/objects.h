// Interprets the pickles of torch.save, in which persistent ids stand for storages and calls of _rebuild_tensor_v2 and
// similar functions for tensors.
#pragma once

#include <string>
#include <vector>

#include "converter/readers/checkpoint.h"
#include "converter/readers/torch/pickle.h"

namespace linformer::convert {

// Collects the storages and tensors of one checkpoint's pickle. The reader of the container (zip.cc or legacy.cc) sets
// the bytes of the storages.
class TorchObjects {
 public:
  explicit TorchObjects(Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  struct StorageRecord {
    std::string key;
    DataType type;
    uint64_t elements;
    std::span<const std::byte> bytes;  // Set by the reader of the container.
    std::optional<uint32_t> crc32;
  };

  // Runs the pickle at the start of `pickle` and returns its value. Sets `consumed` to the length of the pickle.
  Value run(std::span<const std::byte> pickle, uint64_t* consumed);
  std::vector<StorageRecord>& storages() { return storages_; }
  StorageRecord* find_storage(std::string_view key);

  // Finds the state dict in `root` and adds its tensors to the checkpoint. Must be called after the bytes of all
  // storages were set.
  void find_and_add_state_dict(Value root);

 private:
  // A part of a storage. Files from before PyTorch 0.4 contain views of storages.
  struct StorageView {
    uint32_t storage;
    uint64_t first, elements;
  };
  // The arguments from which a tensor is rebuilt. A Tensor is made only if the state dict has this tensor: most tensors
  // of a file may lie outside the state dict.
  struct RebuiltTensor {
    uint32_t view;
    uint64_t offset;
    Value shape, strides;
  };
  Value storage_of_persistent_id(Value id);
  Value construct(std::string_view name, Value arguments);
  Value rebuild_tensor(Value arguments, size_t min_arguments, size_t max_arguments);
  Tensor tensor_of(const RebuiltTensor& rebuilt, std::string_view name) const;
  void add_state_dict(Value dict);

  Checkpoint& checkpoint_;
  std::vector<StorageRecord> storages_;
  ViewMap<uint32_t> by_key_;
  std::vector<StorageView> views_;
  std::vector<RebuiltTensor> tensors_;
};

}  // namespace linformer::convert
