#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "bench/random_model.h"

namespace linformer::bench {

TemporaryModel::TemporaryModel(const ModelShape& shape, ElementType type) {
  const char* const folder = std::getenv("TMPDIR");
  std::string name = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/linformer-bench-XXXXXX";
  fd_ = ::mkstemp(name.data());  // Without O_CLOEXEC, because child processes read the file.
  if (fd_ < 0) throw std::runtime_error("cannot make " + name + "; set TMPDIR to a folder that can be written to");
  ::unlink(name.c_str());
  path_ = "/dev/fd/" + std::to_string(fd_);
  try {
    write_random_model(shape, type, path_);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

TemporaryModel::~TemporaryModel() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace linformer::bench
