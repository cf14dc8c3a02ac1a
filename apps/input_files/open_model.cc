#include "input_files/open_model.h"

#include <utility>

#include "input_files/input_file.h"

namespace linformer::files {

Result<std::shared_ptr<const Model>> open_model(const std::string& path, const LoadOptions& options) {
  if (options.access == Access::read) return Model::load(path.c_str(), options);
  Result<InputFile> opened = InputFile::open(path, Access::map);
  if (!opened.ok()) return opened.status();
  InputFile* file = new InputFile(std::move(*opened));
  const auto release = [](void* owned) { delete static_cast<InputFile*>(owned); };
  Result<std::shared_ptr<const Model>> model = Model::load(file->bytes(), release, file, options);
  if (model.ok()) return model;
  // Errors begin with the path as those of Model::load(path) do, which shows only the end of a long one.
  constexpr size_t shown = 120;
  const bool is_long = path.size() > shown;
  return Status::error(model.status().code(), "%s%s: %s", is_long ? "..." : "",
                       path.c_str() + (is_long ? path.size() - shown : 0), model.status().message());
}

}  // namespace linformer::files
