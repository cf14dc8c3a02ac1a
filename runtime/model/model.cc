#include "linformer/model.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/checked.h"
#include "base/description.h"
#include "base/shared.h"
#include "io/container.h"
#include "io/file_bytes.h"
#include "io/hash.h"
#include "model/read_description.h"
#include "model/validate.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Checks that the padding between tensors is zero. It is less than 64 bytes after each tensor, so only the last page of
// each tensor is read.
Status check_padding(const ModelDescription& description, std::span<const std::byte> segment) {
  for (size_t i = 0; i + 1 < description.tensors.size(); ++i) {
    const TensorDescription& tensor = description.tensors[i];
    const uint64_t end = tensor.offset + tensor.bytes;
    const auto padding = segment.subspan(end, description.tensors[i + 1].offset - end);
    if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; })) {
      return Status::error(Code::corrupt_file,
                           "the padding after tensor %zu (%.80s) is not zero: copy or convert the "
                           "file again",
                           i, tensor.name.c_str());
    }
  }
  return {};
}

// Puts the path before a message. Of a long path it keeps the end, which names the file.
Status with_path(const char* path, const Status& status) {
  constexpr size_t shown = 120;
  const size_t length = std::strlen(path);
  return Status::error(status.code(), "%s%s: %s", length > shown ? "..." : "",
                       path + (length > shown ? length - shown : 0), status.message());
}

}  // namespace

// A model's bytes and description. The bytes lie in memory of the model, in the pages of a mapped file, or in memory of
// the caller.
struct Model::Storage {
  explicit Storage(FileBytes pages) : owned(std::move(pages)), bytes(owned.bytes()) {}
  Storage(std::span<const std::byte> memory, ReleaseBytes done, void* argument)
      : bytes(memory), release(done), context(argument) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (release != nullptr) release(context);
  }

  ModelDescription description;
  FileBytes owned;
  std::span<const std::byte> bytes;
  ReleaseBytes release = nullptr;
  void* context = nullptr;
};

Model::~Model() = default;

Result<std::shared_ptr<const Model>> Model::load(const char* path, const LoadOptions& options) {
  Result<FileBytes> file = options.access == Access::read ? FileBytes::read(path) : FileBytes::map(path);
  if (!file.ok()) return file.status();
  Result<std::shared_ptr<const Model>> opened =
      open(std::unique_ptr<Storage>(new (std::nothrow) Storage(std::move(*file))), options);
  if (!opened.ok()) return with_path(path, opened.status());
  return opened;
}

Result<std::shared_ptr<const Model>> Model::load(std::span<const std::byte> memory, const LoadOptions& options) {
  return load(memory, nullptr, nullptr, options);
}

Result<std::shared_ptr<const Model>> Model::load(std::span<const std::byte> memory, ReleaseBytes release, void* context,
                                                 const LoadOptions& options) {
  const bool aligned = reinterpret_cast<uintptr_t>(memory.data()) % tensor_alignment == 0;
  if (aligned && options.access == Access::map) {
    std::unique_ptr<Storage> storage(new (std::nothrow) Storage(memory, release, context));
    if (!storage && release != nullptr) release(context);
    return open(std::move(storage), options);
  }
  Result<FileBytes> copy = FileBytes::copy(memory);
  if (release != nullptr) release(context);
  if (!copy.ok()) return copy.status();
  return open(std::unique_ptr<Storage>(new (std::nothrow) Storage(std::move(*copy))), options);
}

Result<std::shared_ptr<const Model>> Model::load_descriptor(int descriptor, uint64_t offset, uint64_t bytes,
                                                            const LoadOptions& options) {
  const bool maps = options.access == Access::map && offset % tensor_alignment == 0;
  Result<FileBytes> part =
      maps ? FileBytes::map(descriptor, offset, bytes) : FileBytes::read(descriptor, offset, bytes);
  if (!part.ok()) return part.status();
  return open(std::unique_ptr<Storage>(new (std::nothrow) Storage(std::move(*part))), options);
}

Result<std::shared_ptr<const Model>> Model::load_with(ReadBytes read, void* context, uint64_t bytes,
                                                      const LoadOptions& options) {
  if (read == nullptr)
    return Status::error(Code::invalid_argument, "the function that reads the model is null: pass a function");
  Result<FileBytes> copy = FileBytes::read_with(read, context, bytes);
  if (!copy.ok()) return copy.status();
  return open(std::unique_ptr<Storage>(new (std::nothrow) Storage(std::move(*copy))), options);
}

Result<std::shared_ptr<const Model>> Model::open(std::unique_ptr<Storage> storage, const LoadOptions& options) {
  std::shared_ptr<Model> model = try_share(std::unique_ptr<Model>(new (std::nothrow) Model));
  if (!model || !storage) return Status::error(Code::out_of_memory, "no memory for the model's description");
  model->bytes_ = storage->bytes;
  model->storage_ = std::move(storage);
  const Result<Container> container = parse_container(model->bytes_);
  if (!container.ok()) return container.status();
  const auto& [metadata, tensors] = container.value();
  LINFORMER_TRY(read_description(metadata, model->bytes_.size(), &model->storage_->description));
  LINFORMER_TRY(validate(model->storage_->description, tensors.size()));
  LINFORMER_TRY(check_padding(model->storage_->description, tensors));
  model->tensor_segment_ = tensors.data();
  const bool wanted = options.checksums == Verify::always ||
                      (options.checksums == Verify::automatic && model->bytes_.size() <= options.verify_below);
  if (wanted) LINFORMER_TRY(model->verify());
  return std::shared_ptr<const Model>(std::move(model));
}

const ModelDescription& Model::description() const { return storage_->description; }

const std::byte* Model::data(int32_t tensor) const {
  return tensor_segment_ + description().tensors[static_cast<size_t>(tensor)].offset;
}

}  // namespace LINFORMER_NAMESPACE
