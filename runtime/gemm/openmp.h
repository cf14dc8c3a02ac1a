// Controls the number of OpenMP threads that a provider's library uses in the calling thread.
#pragma once

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Calls OpenMP functions that it finds by name in a library and in the libraries that this library has loaded. If
// linformer linked an OpenMP runtime itself, the process could have two runtimes: this one and that of the library.
class OpenMp {
 public:
  OpenMp() = default;
  explicit OpenMp(void* library);

  // Sets to 1 the number of threads in parallel regions that the calling thread starts. Returns the number before, or 0
  // if the library has no OpenMP runtime. OpenMP keeps this setting for each thread, so no other thread is affected.
  int use_one_thread() const;
  void restore_threads(int before) const;

 private:
  int (*get_max_threads_)() = nullptr;
  void (*set_num_threads_)(int) = nullptr;
};

}  // namespace LINFORMER_NAMESPACE
