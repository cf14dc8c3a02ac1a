// Loads a model file for a program, and guards its mapping.
#pragma once

#include <memory>
#include <string>

#include "linformer/model.h"

namespace linformer::files {

// Loads a model as Model::load(path, options) does, with the same errors; the error of a file that can't be mapped also
// advises --no-mmap. If the file is mapped and another process truncates it before the model is destroyed, the next
// access to a page that is gone ends this process with an error message (lost_file.h).
Result<std::shared_ptr<const Model>> open_model(const std::string& path, const LoadOptions& options);

}  // namespace linformer::files
