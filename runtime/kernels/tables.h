// The tables that exist in this build; kernels.cc chooses among them.
#pragma once

#include "kernels/kernels.h"

namespace linformer {

extern const Kernels scalar_kernels;
#if defined(__x86_64__)
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
#elif defined(__aarch64__)
extern const Kernels neon_kernels;
#endif

}  // namespace linformer
