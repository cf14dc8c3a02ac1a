// Model: an immutable view of one .lnfr file. Any number of threads and sessions may share one Model.
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

struct ModelDescription;  // An internal type, which is defined in base/description.h.

// When the checksums of tensors are compared. The header and the metadata are always compared with their checksums.
// Tensors of large files are not compared by default, because that would read the whole file before the first answer. A
// damaged weight that nobody compared only shows as wrong numbers. Model::verify() finds it at any time.
enum class Verify : uint8_t {
  automatic = 0,  // Tensors are compared if the file has at most LoadOptions::verify_below bytes.
  always,
  never,  // Only the header and the metadata are compared.
};

// How the bytes of a file come into memory.
enum class Access : uint8_t {
  // The file is mapped: pages are read when they are first used, and all processes that map the file share them. The
  // file must not be changed while the model lives. Bytes that are written to it show up in the model, and the process
  // gets SIGBUS if the file is truncated. To replace a model, rename another file over it. If the model is loaded from
  // the caller's memory, that memory is used in place.
  map = 0,
  // All bytes are read at once into memory that the model owns. Changing the file afterwards has no effect.
  read,
};

struct LoadOptions {
  Verify checksums = Verify::automatic;
  uint64_t verify_below = 64u << 20;  // In bytes.
  Access access = Access::map;
};

// Writes the bytes [offset, offset + bytes) of a model's file to `destination`. Returns false if it can't read them.
using ReadBytes = bool (*)(void* context, std::byte* destination, uint64_t offset, size_t bytes);
// Called when the model no longer reads the memory that it was loaded from.
using ReleaseBytes = void (*)(void* context);

// One model file in memory. The load functions validate the whole structure of the file. Apart from comparing
// checksums, this takes work and allocations that grow with the number of tensors, the vocabulary and the labels, not
// with the weights. The load functions return io_error, corrupt_file, unsupported (another version of the format),
// out_of_memory or invalid_argument (for an empty path).
//
//   auto model = linformer::Model::load("model.lnfr");
//   if (!model.ok()) std::fputs(model.status().message(), stderr);
class Model {
 public:
  // Maps the file at `path`, or reads it with Access::read.
  static Result<std::shared_ptr<const Model>> load(const char* path, const LoadOptions& options = {});
  // Loads a model from the bytes of a whole file. The caller keeps `memory` and must leave it unchanged for as long as
  // the model lives. If `memory` isn't aligned to 64 bytes, or with Access::read, the bytes are copied, and the caller
  // may free them once this function has returned.
  static Result<std::shared_ptr<const Model>> load(std::span<const std::byte> memory, const LoadOptions& options = {});
  // As above, but takes ownership of the memory. release(context) is called exactly once: by the thread that drops the
  // last reference to the model, or by this thread before the function returns if the bytes were copied or if loading
  // failed.
  static Result<std::shared_ptr<const Model>> load(std::span<const std::byte> memory, ReleaseBytes release,
                                                   void* context, const LoadOptions& options = {});
  // Loads the bytes [offset, offset + bytes) of an open file that may hold more than the model, such as an Android
  // package. If `bytes` is 0, the model reaches to the end of the file. The caller keeps the descriptor, whose file
  // position isn't moved, and may close it afterwards. If `offset` isn't a multiple of 64, the bytes are read instead
  // of mapped. Returns invalid_argument if the file has no such bytes.
  static Result<std::shared_ptr<const Model>> load_descriptor(int descriptor, uint64_t offset = 0, uint64_t bytes = 0,
                                                              const LoadOptions& options = {});
  // Loads `bytes` bytes into memory that the model owns. read() is called on this thread, for one part of the file
  // after the other, in order. Returns io_error if read() returns false.
  static Result<std::shared_ptr<const Model>> load_with(ReadBytes read, void* context, uint64_t bytes,
                                                        const LoadOptions& options = {});

  ModelInfo info() const;
  // The functions up to tensor() return an empty struct if the index is out of range or the model has no such part. All
  // take constant time except layer(), whose time grows with the layer's number of projections.
  HeadInfo head(int head) const;  // 0 to info().heads - 1
  EncoderInfo encoder(Part part = Part::encoder) const;
  LayerInfo layer(int layer, Part part = Part::encoder) const;                 // 0 to encoder(part).layers - 1
  ProjectionInfo projection(int projection, Part part = Part::encoder) const;  // 0 to encoder(part).projections - 1
  MaskedLmInfo masked_lm() const;
  SentenceEmbeddingInfo sentence_embedding() const;
  PromptInfo prompt(int prompt) const;  // 0 to sentence_embedding().prompts - 1
  TokenizerInfo tokenizer() const;
  TensorInfo tensor(int tensor) const;  // 0 to info().tensors - 1
  // Returns the index of the head with this name, or -1 if the model has none.
  int find_head(std::string_view name) const;
  // Returns the name of a head's class, which ends with a 0 byte, or "" if the model has no name for it.
  std::string_view label(int head, int64_t label) const;

  // Returns everything that the file says. Only this project's own programs use it, because its type isn't part of the
  // public interface.
  const ModelDescription& description() const;
  // Returns the bytes of tensor `tensor`, which must be valid. Only this project's own programs use it.
  const std::byte* data(int32_t tensor) const;
  // Compares every tensor with its checksum. Returns corrupt_file with the name of the first damaged tensor. It takes
  // O(bytes) time and allocates nothing. Any thread may call it while others run sessions of this model, so a large
  // file can be checked in the background.
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
