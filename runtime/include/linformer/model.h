// Model: an immutable view of one .lnfr file. Thread-safe: share one among any number of sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/description.h"
#include "linformer/status.h"

namespace linformer {

// Header and metadata are always compared with their checksums. Tensors of larger files are not, by default: it would
// read the whole file before the first answer. A damaged weight then shows in wrong numbers alone; Model::verify()
// finds it, at any time.
enum class Verify : uint8_t {
  automatic = 0,  // tensor checksums for files up to LoadOptions::verify_below
  always,
  never,  // metadata only
};

// How the bytes of a file come into memory.
enum class Access : uint8_t {
  map = 0,  // pages are read when they are first used, and shared by all processes that map the file. It must not be
            // changed while the model lives: bytes that are written show, and where it shrinks the process gets SIGBUS.
            // To replace a model, rename another file over it.
  read,     // into memory of the model's own, all at once. What happens to the file afterwards doesn't matter.
};

struct LoadOptions {
  Verify checksums = Verify::automatic;
  uint64_t verify_below = 64u << 20;  // bytes
  Access access = Access::map;        // of a path
};

class Model {
 public:
  // Maps or reads the file and validates all of its structure: O(tensors) work and allocations beyond checksums.
  // Errors: io_error, corrupt_file, unsupported, out_of_memory.
  static Result<std::shared_ptr<const Model>> load(const char* path, const LoadOptions& options = {});
  // `memory` stays the caller's: it must be 64-byte aligned, unchanged, and outlive the model.
  static Result<std::shared_ptr<const Model>> load(std::span<const std::byte> memory, const LoadOptions& options = {});

  const ModelDescription& description() const { return description_; }
  // The bytes of tensor `index` inside the file. `index` must be valid.
  const std::byte* data(TensorIndex index) const { return tensor_segment_ + description_.tensors[index].offset; }
  // Compares every tensor with its checksum; O(bytes), no allocation. Any thread may call it while others run
  // sessions of this model, so a large file can be checked in the background.
  Status verify() const;
  uint64_t file_bytes() const { return bytes_.size(); }

  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

 private:
  Model() = default;
  static std::shared_ptr<Model> allocate();  // null: no memory
  static Result<std::shared_ptr<const Model>> open(std::shared_ptr<Model> model, const LoadOptions& options);
  std::span<const std::byte> bytes_;
  const std::byte* tensor_segment_ = nullptr;
  ModelDescription description_;
  void* mapping_ = nullptr;  // owned when loaded from a path, mapped or read
};

}  // namespace linformer
