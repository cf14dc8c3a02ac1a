// The calling thread's OpenMP thread count, in the OpenMP runtime of a provider's library.
#pragma once

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// By name, in the library that was opened and in those it brought: linking an OpenMP runtime ourselves could bring in
// another one than the library's.
class OpenMp {
 public:
  OpenMp() = default;
  explicit OpenMp(void* library);

  // Asks for one thread in parallel regions that the calling thread starts; returns the count before, 0 when the
  // library has no OpenMP runtime. OpenMP keeps this setting for each thread: no other thread notices.
  int use_one_thread() const;
  void restore_threads(int before) const;

 private:
  int (*get_max_threads_)() = nullptr;
  void (*set_num_threads_)(int) = nullptr;
};

}  // namespace LINFORMER_NAMESPACE
