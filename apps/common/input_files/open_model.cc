#include "input_files/open_model.h"

#include <utility>

#include "input_files/lost_file.h"
#include "io/file_bytes.h"

namespace linformer::files {
namespace {

struct MappedFile {
  explicit MappedFile(FileBytes file, const std::string& path) : bytes(std::move(file)), guard(bytes.bytes(), path) {}

  FileBytes bytes;
  LostFile guard;  // destroyed before `bytes` unmaps the pages
};

}  // namespace

Result<std::shared_ptr<const Model>> open_model(const std::string& path, const LoadOptions& options) {
  if (options.access == Access::read) return Model::load(path.c_str(), options);
  Result<FileBytes> bytes = FileBytes::map(path.c_str());
  if (!bytes.ok()) return bytes.status();
  MappedFile* file = new MappedFile(std::move(*bytes), path);
  const auto release = [](void* owned) { delete static_cast<MappedFile*>(owned); };
  Result<std::shared_ptr<const Model>> model = Model::load(file->bytes.bytes(), release, file, options);
  if (model.ok()) return model;
  // Errors begin with the path as those of Model::load(path) do, which shows only the end of a long one.
  constexpr size_t shown = 120;
  const bool is_long = path.size() > shown;
  return Status::error(model.status().code(), "%s%s: %s", is_long ? "..." : "",
                       path.c_str() + (is_long ? path.size() - shown : 0), model.status().message());
}

}  // namespace linformer::files
