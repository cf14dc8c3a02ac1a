#include "input_files/open_model.h"

#include <memory>
#include <span>

#include "input_files/mapped_file.h"

namespace linformer::files {

Result<std::shared_ptr<const Model>> open_model(const std::string& path, const LoadOptions& options) {
  if (options.access == Access::read) return Model::load(path.c_str(), options);
  auto file = std::make_unique<MappedFile>(path);
  // Mapped by the library, the file would have no guard.
  if (!file->refusal().empty()) {
    return Status::error(Code::io_error, "cannot map %s: %s; --no-mmap reads it", path.c_str(),
                         file->refusal().c_str());
  }
  // The library has the sentence that says what is wrong with the path.
  if (file->bytes().empty()) return Model::load(path.c_str(), options);
  const std::span<const std::byte> bytes = file->bytes();
  const auto release = [](void* owned) { delete static_cast<MappedFile*>(owned); };
  Result<std::shared_ptr<const Model>> model = Model::load(bytes, release, file.release(), options);
  if (model.ok()) return model;
  // Errors begin with the path as those of Model::load(path) do, which shows only the end of a long one.
  constexpr size_t shown = 120;
  const bool is_long = path.size() > shown;
  return Status::error(model.status().code(), "%s%s: %s", is_long ? "..." : "",
                       path.c_str() + (is_long ? path.size() - shown : 0), model.status().message());
}

}  // namespace linformer::files
