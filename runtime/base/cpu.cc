#include "base/cpu.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace linformer {

bool machine_has(Isa isa) {
  switch (isa) {
    case Isa::automatic:
    case Isa::scalar:
      return true;
#if defined(__x86_64__)
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case Isa::avx512:
      // What its unit is compiled for (kernels/CMakeLists.txt): AVX-512F, and AVX2, FMA and F16C beside it. It uses
      // none of BW, DQ and VL, so asking for them would only shut out machines.
      return machine_has(Isa::avx2) && __builtin_cpu_supports("avx512f");
    case Isa::neon:
      return false;
#elif defined(__aarch64__)
    case Isa::neon:
      return true;
    case Isa::avx2:
    case Isa::avx512:
      return false;
#else
    default:
      return false;
#endif
  }
  return false;
}

Result<Isa> isa_from_environment() {
  const char* value = std::getenv("LINFORMER_ISA");
  if (value == nullptr || value[0] == '\0') return Isa::automatic;
  for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
    if (std::strcmp(value, name_of(isa)) == 0) return isa;
  }
  return Status::error(
      Code::invalid_argument,
      "LINFORMER_ISA in the environment is '%.40s': set it to scalar, avx2, avx512 or neon, or unset it", value);
}

}  // namespace linformer
