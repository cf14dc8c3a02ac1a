#include "gemm/openmp.h"

#include <dlfcn.h>

namespace linformer {
namespace {

// By name at run time: linking an OpenMP runtime ourselves could bring in another one than the library's.
struct OpenMp {
  int (*get_max_threads)();
  void (*set_num_threads)(int);
};

const OpenMp& open_mp() {
  static const OpenMp functions = {reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
                                   reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
  return functions;
}

}  // namespace

int use_one_thread() {
  if (open_mp().get_max_threads == nullptr || open_mp().set_num_threads == nullptr) return 0;
  const int before = open_mp().get_max_threads();
  open_mp().set_num_threads(1);
  return before;
}

void restore_threads(int before) {
  if (before > 0) open_mp().set_num_threads(before);
}

}  // namespace linformer
