#include "gemm/openmp.h"

#include "base/platform.h"

namespace LINFORMER_NAMESPACE {

OpenMp::OpenMp(void* library)
    : get_max_threads_(reinterpret_cast<int (*)()>(platform::find_symbol(library, "omp_get_max_threads"))),
      set_num_threads_(reinterpret_cast<void (*)(int)>(platform::find_symbol(library, "omp_set_num_threads"))) {}

int OpenMp::use_one_thread() const {
  if (get_max_threads_ == nullptr || set_num_threads_ == nullptr) return 0;
  const int before = get_max_threads_();
  set_num_threads_(1);
  return before;
}

void OpenMp::restore_threads(int before) const {
  if (before > 0) set_num_threads_(before);
}

}  // namespace LINFORMER_NAMESPACE
