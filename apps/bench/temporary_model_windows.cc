#include <windows.h>

#include <atomic>
#include <iterator>
#include <stdexcept>

#include "bench/random_model.h"
#include "files/file_calls.h"
#include "files/wide_path.h"

namespace linformer::bench {

// Windows opens files only by their names, so the file keeps its name until it is destroyed.
TemporaryModel::TemporaryModel(const ModelShape& shape, ElementType type) {
  static std::atomic<int> models{0};
  wchar_t folder[MAX_PATH + 1];
  const DWORD length = ::GetTempPathW(static_cast<DWORD>(std::size(folder)), folder);
  if (length == 0 || length >= std::size(folder))
    throw std::runtime_error("the system has no folder for temporary files");
  path_ = files::narrow({folder, length}) + "linformer-bench-" + std::to_string(files::process_id()) + "-" +
          std::to_string(models.fetch_add(1)) + ".lnfr";
  write_random_model(shape, type, path_);  // Leaves no file if it throws.
}

TemporaryModel::~TemporaryModel() { files::remove_file(path_.c_str()); }

}  // namespace linformer::bench
