#include "linformer/model.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>

#include "base/checked.h"
#include "base/shared.h"
#include "io/container.h"
#include "io/hash.h"
#include "io/mapped_file.h"
#include "model/read_description.h"
#include "model/validate.h"

namespace linformer {
namespace {

// Between tensors: less than 64 bytes each, so one page of each tensor's end is touched and no more.
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

// The end of a path says more than its beginning.
Status with_path(const char* path, const Status& status) {
  constexpr size_t shown = 120;
  const size_t length = std::strlen(path);
  return Status::error(status.code(), "%s%s: %s", length > shown ? "..." : "",
                       path + (length > shown ? length - shown : 0), status.message());
}

}  // namespace

std::shared_ptr<Model> Model::allocate() { return try_share(std::unique_ptr<Model>(new (std::nothrow) Model)); }

Model::~Model() {
  if (mapping_ != nullptr) MappedFile::unmap(bytes_);
}

Result<std::shared_ptr<const Model>> Model::load(const char* path, const LoadOptions& options) {
  Result<MappedFile> file = options.access == Access::read ? MappedFile::read(path) : MappedFile::open(path);
  if (!file.ok()) return file.status();
  std::shared_ptr<Model> model = allocate();
  if (!model) return Status::error(Code::out_of_memory, "no memory for the model's description");
  model->bytes_ = file->release();
  model->mapping_ = const_cast<std::byte*>(model->bytes_.data());
  Result<std::shared_ptr<const Model>> opened = open(std::move(model), options);
  if (!opened.ok()) return with_path(path, opened.status());
  return opened;
}

Result<std::shared_ptr<const Model>> Model::load(std::span<const std::byte> memory, const LoadOptions& options) {
  if (reinterpret_cast<uintptr_t>(memory.data()) % tensor_alignment != 0) {
    return Status::error(Code::invalid_argument,
                         "the model's memory at %p is not aligned to %" PRIu64 " bytes: allocate it with aligned_alloc",
                         static_cast<const void*>(memory.data()), tensor_alignment);
  }
  std::shared_ptr<Model> model = allocate();
  if (!model) return Status::error(Code::out_of_memory, "no memory for the model's description");
  model->bytes_ = memory;
  return open(std::move(model), options);
}

Result<std::shared_ptr<const Model>> Model::open(std::shared_ptr<Model> model, const LoadOptions& options) {
  const Result<Container> container = parse_container(model->bytes_);
  if (!container.ok()) return container.status();
  const auto& [metadata, tensors] = container.value();
  LINFORMER_TRY(read_description(metadata, model->bytes_.size(), &model->description_));
  LINFORMER_TRY(validate(model->description_, tensors.size()));
  LINFORMER_TRY(check_padding(model->description_, tensors));
  model->tensor_segment_ = tensors.data();
  const bool wanted = options.checksums == Verify::always ||
                      (options.checksums == Verify::automatic && model->bytes_.size() <= options.verify_below);
  if (wanted) LINFORMER_TRY(model->verify());
  return std::shared_ptr<const Model>(std::move(model));
}

Status Model::verify() const {
  for (size_t i = 0; i < description_.tensors.size(); ++i) {
    const TensorDescription& tensor = description_.tensors[i];
    if (hash_bytes({tensor_segment_ + tensor.offset, static_cast<size_t>(tensor.bytes)}) != tensor.checksum) {
      return Status::error(Code::corrupt_file,
                           "the checksum of tensor %zu (%.80s) differs: the file is damaged, copy or convert it again",
                           i, tensor.name.c_str());
    }
  }
  return {};
}

}  // namespace linformer
