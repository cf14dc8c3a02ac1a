#include "input_files/open_model.h"

#include <memory>
#include <span>

#include "input_files/mapped_file.h"

namespace linformer::files {

Result<std::shared_ptr<const Model>> open_model(const std::string& path, const LoadOptions& options) {
  if (options.access == Access::read) return Model::load(path.c_str(), options);
  auto file = std::make_unique<MappedFile>(path);
  // Model::load(path) would map the file without a TruncationGuard, so it is not tried here.
  if (!file->mapping_error().empty()) {
    return Status::error(Code::io_error, "cannot map %s: %s; use --no-mmap to read it instead", path.c_str(),
                         file->mapping_error().c_str());
  }
  // If the file could not be opened, Model::load() returns the error that says what is wrong with the path.
  if (file->bytes().empty()) return Model::load(path.c_str(), options);
  const std::span<const std::byte> bytes = file->bytes();
  const auto release = [](void* owned) { delete static_cast<MappedFile*>(owned); };
  Result<std::shared_ptr<const Model>> model = Model::load(bytes, release, file.release(), options);
  if (model.ok()) return model;
  // Errors begin with the path, as the errors of Model::load(path) do. Only the end of a long path is shown.
  constexpr size_t shown = 120;
  const bool is_long = path.size() > shown;
  return Status::error(model.status().code(), "%s%s: %s", is_long ? "..." : "",
                       path.c_str() + (is_long ? path.size() - shown : 0), model.status().message());
}

}  // namespace linformer::files
