// Model: an immutable view of one .lnfr file. Thread-safe: share one among any number of sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "linformer/model_info.h"
#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct ModelDescription;  // internal: base/description.h

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
            // To replace a model, rename another file over it. Memory of the caller's is used where it lies.
  read,     // into memory of the model's own, all at once. What happens to the file afterwards doesn't matter.
};

struct LoadOptions {
  Verify checksums = Verify::automatic;
  uint64_t verify_below = 64u << 20;  // bytes
  Access access = Access::map;
};

// Puts the bytes [offset, offset + bytes) of a model's file to `destination`; false: they can't be had.
using ReadBytes = bool (*)(void* context, std::byte* destination, uint64_t offset, size_t bytes);
// The memory that a model was loaded from isn't read any more.
using ReleaseBytes = void (*)(void* context);

class Model {
 public:
  // Maps or reads the file and validates all of its structure: O(tensors) work and allocations beyond checksums.
  // Errors: io_error, corrupt_file, unsupported, out_of_memory.
  static Result<std::shared_ptr<const Model>> load(const char* path, const LoadOptions& options = {});
  // `memory` is a whole file's bytes. It stays the caller's, unchanged, for as long as the model lives. Where it isn't
  // aligned to 64 bytes, or with Access::read, it is copied, and no longer needed once this returns.
  static Result<std::shared_ptr<const Model>> load(std::span<const std::byte> memory, const LoadOptions& options = {});
  // The same for memory that is handed over: release(context) is called exactly once, by the thread that no longer
  // needs it. That is this one where the bytes were copied or couldn't be loaded.
  static Result<std::shared_ptr<const Model>> load(std::span<const std::byte> memory, ReleaseBytes release,
                                                   void* context, const LoadOptions& options = {});
  // The bytes [offset, offset + bytes) of an open file that may hold more than the model, as an APK's assets; 0 bytes:
  // up to its end. The descriptor stays the caller's, who may close it, and its position isn't moved. Bytes that don't
  // begin at a multiple of 64 are read, not mapped. Errors as above, and invalid_argument for a part beyond the file.
  static Result<std::shared_ptr<const Model>> load_descriptor(int descriptor, uint64_t offset = 0, uint64_t bytes = 0,
                                                              const LoadOptions& options = {});
  // `bytes` bytes from wherever read() brings them, asked for in order and on this thread, into memory of the model's
  // own. io_error where it returns false.
  static Result<std::shared_ptr<const Model>> load_with(ReadBytes read, void* context, uint64_t bytes,
                                                        const LoadOptions& options = {});

  ModelInfo info() const;
  // Of these an index outside its range, and a part that the model lacks, give an empty struct. All are O(1) but
  // layer(), which looks at the layer's projections.
  HeadInfo head(int head) const;  // 0 to info().heads - 1
  EncoderInfo encoder(Part part = Part::encoder) const;
  LayerInfo layer(int layer, Part part = Part::encoder) const;                 // 0 to encoder(part).layers - 1
  ProjectionInfo projection(int projection, Part part = Part::encoder) const;  // 0 to encoder(part).projections - 1
  MaskedLmInfo masked_lm() const;
  SentenceEmbeddingInfo sentence_embedding() const;
  PromptInfo prompt(int prompt) const;  // 0 to sentence_embedding().prompts - 1
  TokenizerInfo tokenizer() const;
  TensorInfo tensor(int tensor) const;  // 0 to info().tensors - 1
  // Its index; -1: there is none of this name.
  int find_head(std::string_view name) const;
  // Name of a head's class, with a 0 behind its last byte; "" where the model has none.
  std::string_view label(int head, int64_t label) const;

  // All that the file says, for the project's own programs: its type is no part of the public interface.
  const ModelDescription& description() const;
  // The bytes of tensor `index` inside the file, which must be valid; for the same.
  const std::byte* data(int32_t index) const;
  // Compares every tensor with its checksum; O(bytes), no allocation. Any thread may call it while others run
  // sessions of this model, so a large file can be checked in the background.
  Status verify() const;
  uint64_t file_bytes() const { return bytes_.size(); }

  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

 private:
  Model() = default;
  struct Storage;
  static Result<std::shared_ptr<const Model>> open(std::unique_ptr<Storage> storage, const LoadOptions& options);
  std::span<const std::byte> bytes_;
  const std::byte* tensor_segment_ = nullptr;
  std::unique_ptr<Storage> storage_;
};

}  // namespace LINFORMER_NAMESPACE
