// How programs load a model.
#pragma once

#include <memory>
#include <string>

#include "linformer/model.h"

namespace linformer::files {

// Model::load() with its errors. Where the file is mapped and somebody truncates it, the process ends with a sentence
// (lost_file.h), from here until the model is gone.
Result<std::shared_ptr<const Model>> open_model(const std::string& path, const LoadOptions& options);

}  // namespace linformer::files
