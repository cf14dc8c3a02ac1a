// CPUID and XGETBV of x86-64. They have a file of their own, because they differ between compilers and not between
// operating systems.
#if defined(__x86_64__)
#include <cpuid.h>

#include "base/platform.h"

namespace LINFORMER_NAMESPACE::platform {

bool cpuid(uint32_t leaf, uint32_t subleaf, CpuId* answer) {
  return __get_cpuid_count(leaf, subleaf, &answer->eax, &answer->ebx, &answer->ecx, &answer->edx) != 0;
}

uint32_t os_saved_registers() {
  uint32_t state = 0, state_high = 0;  // XCR0
  __asm__("xgetbv" : "=a"(state), "=d"(state_high) : "c"(0));
  return state;
}

}  // namespace LINFORMER_NAMESPACE::platform
#endif
