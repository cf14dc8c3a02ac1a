#include "base/cpu.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace linformer {

#if defined(__x86_64__)
namespace {

// What the processor executes and the operating system keeps when it switches threads. Asked by CPUID and XGETBV: the
// compilers' __builtin_cpu_supports lacks "f16c" in clang before 17, and answers 0 to everything in static musl
// programs.
struct Features {
  bool avx2 = false, fma = false, f16c = false, avx512f = false;
  bool avx512_core = false;  // BW, CD, DQ and VL beside F
  bool avx512_vnni = false, avx512_bf16 = false, amx = false;
};

Features detect() {
  Features features;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return features;
  constexpr unsigned fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
  if ((ecx & osxsave) == 0 || (ecx & avx) == 0) return features;
  const unsigned ecx1 = ecx;
  unsigned state = 0, state_high = 0;  // XCR0: register state that the system saves
  __asm__("xgetbv" : "=a"(state), "=d"(state_high) : "c"(0));
  constexpr unsigned ymm_state = 0x6, zmm_state = 0xe6;  // with opmask and both halves of the ZMM registers
  if ((state & ymm_state) != ymm_state) return features;
  features.fma = (ecx1 & fma) != 0;
  features.f16c = (ecx1 & f16c) != 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return features;
  features.avx2 = (ebx & 1u << 5) != 0;
  features.avx512f = (ebx & 1u << 16) != 0 && (state & zmm_state) == zmm_state;
  constexpr unsigned core = 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  features.avx512_core = features.avx512f && (ebx & core) == core;
  features.avx512_vnni = features.avx512_core && (ecx & 1u << 11) != 0;
  constexpr unsigned tile_state = 3u << 17, amx = 1u << 22 | 1u << 24 | 1u << 25;
  features.amx = (edx & amx) == amx && (state & tile_state) == tile_state;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) {
    features.avx512_bf16 = features.avx512_vnni && (eax & 1u << 5) != 0;
  }
  return features;
}

// Asked once: CPUID is slow in virtual machines.
const Features& features() {
  static const Features found = detect();
  return found;
}

}  // namespace
#endif

bool machine_has(Isa isa) {
  switch (isa) {
    case Isa::automatic:
    case Isa::scalar:
      return true;
#if defined(__x86_64__)
    case Isa::avx2:
      return features().avx2 && features().fma && features().f16c;
    case Isa::avx512:
      // What its unit is compiled for (kernels/CMakeLists.txt): AVX-512F, and AVX2, FMA and F16C beside it. It uses
      // none of BW, DQ and VL, so asking for them would only shut out machines.
      return machine_has(Isa::avx2) && features().avx512f;
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

bool machine_has([[maybe_unused]] Extension extension) {
#if defined(__x86_64__)
  if (!machine_has(Isa::avx512)) return false;
  switch (extension) {
    case Extension::avx512_vnni:
      return features().avx512_vnni;
    case Extension::avx512_bf16:
      return features().avx512_bf16;
    case Extension::amx: {
      // Linux saves tiles only for processes that asked (arch_prctl ARCH_REQ_XCOMP_PERM, XTILEDATA).
      static const bool allowed = features().amx && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
      return allowed;
    }
    default:
      return false;
  }
#elif defined(__aarch64__) && defined(__linux__)
  // Bits of the kernel's asm/hwcap.h, spelled out: older headers lack the last two.
  switch (extension) {
    case Extension::neon_dotprod:
      return (getauxval(AT_HWCAP) & 1ul << 20) != 0;  // HWCAP_ASIMDDP
    case Extension::neon_i8mm:
      return (getauxval(AT_HWCAP2) & 1ul << 13) != 0;  // HWCAP2_I8MM
    case Extension::neon_bf16:
      return (getauxval(AT_HWCAP2) & 1ul << 14) != 0;  // HWCAP2_BF16
    default:
      return false;
  }
#else
  return false;
#endif
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
