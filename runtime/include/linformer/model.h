// Model: an immutable view of one .lnfr file. Thread-safe: share one among any number of sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/description.h"
#include "linformer/status.h"

namespace linformer {

enum class Verify : uint8_t {
  automatic = 0,  // tensor checksums for files up to LoadOptions::verify_below, metadata always
  always,
  never,  // metadata only
};

struct LoadOptions {
  Verify checksums = Verify::automatic;
  uint64_t verify_below = 64u << 20;  // bytes
};

class Model {
 public:
  // Maps the file and validates all of its structure: O(tensors) work and allocations beyond checksums.
  // The file must not be truncated while the model lives (a shrunken mapping is a bus error).
  static Result<std::shared_ptr<const Model>> load(const char* path, const LoadOptions& options = {});
  // `memory` stays the caller's: it must be 64-byte aligned, unchanged, and outlive the model.
  static Result<std::shared_ptr<const Model>> load(std::span<const std::byte> memory, const LoadOptions& options = {});

  const ModelDescription& description() const { return description_; }
  // The bytes of tensor `index` inside the file. `index` must be valid.
  const std::byte* data(TensorIndex index) const { return tensor_segment_ + description_.tensors[index].offset; }
  // Compares every tensor with its checksum; O(bytes).
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
  void* mapping_ = nullptr;  // owned when loaded from a path
};

}  // namespace linformer
