#include "base/cpu.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "base/platform.h"
#include "linformer/session_options.h"

namespace LINFORMER_NAMESPACE {
namespace {

#if defined(__x86_64__)

// Instructions that the processor may have, and registers that the operating system may save when it switches threads.
// An instruction set (or extension) needs all features up to its last one: last_of_avx2 and so on, below. The AVX-512
// kernels are compiled for F alone (kernels/CMakeLists.txt) and use none of BW, CD, DQ and VL, so requiring these would
// only exclude machines.
enum Feature : int {
  avx2,
  fma,
  f16c,
  ymm_kept,
  avx512f,
  zmm_kept,
  avx512bw,
  avx512cd,
  avx512dq,
  avx512vl,
  avx512_vnni,
  avx512_bf16,
  amx_tile,
  amx_bf16,
  amx_int8,
  tiles_kept,
  feature_count
};
constexpr const char* feature_names[feature_count] = {"avx2",        "fma",
                                                      "f16c",        "an operating system that saves ymm registers",
                                                      "avx512f",     "an operating system that saves zmm registers",
                                                      "avx512bw",    "avx512cd",
                                                      "avx512dq",    "avx512vl",
                                                      "avx512_vnni", "avx512_bf16",
                                                      "amx_tile",    "amx_bf16",
                                                      "amx_int8",    "an operating system that saves amx tiles"};
constexpr Feature last_of_avx2 = ymm_kept, last_of_avx512 = zmm_kept, last_of_vnni = avx512_vnni,
                  last_of_bf16 = avx512_bf16, last_of_amx = tiles_kept;

// Returns a bit for each feature, from CPUID and XGETBV. The compilers' __builtin_cpu_supports can't be used: it lacks
// "f16c" in clang before 17, and returns 0 for everything in static musl programs.
uint32_t detect() {
  uint32_t found = 0;
  const auto look = [&](Feature feature, uint32_t bits, int index) { found |= (bits >> index & 1) << feature; };
  const auto keep = [&](Feature feature, uint32_t state, uint32_t registers) {
    if ((state & registers) == registers) found |= 1u << feature;
  };
  platform::CpuId one, seven, seven_one;
  if (!platform::cpuid(1, 0, &one)) return 0;
  look(fma, one.ecx, 12);
  look(f16c, one.ecx, 29);
  constexpr uint32_t osxsave = 1u << 27, avx = 1u << 28;
  if ((one.ecx & osxsave) != 0 && (one.ecx & avx) != 0) {
    const uint32_t state = platform::os_saved_registers();
    keep(ymm_kept, state, 0x6);
    keep(zmm_kept, state, 0xe6);  // Includes mask registers, the upper halves of zmm0 to zmm15, and zmm16 to zmm31.
    keep(tiles_kept, state, 3u << 17);
  }
  if (!platform::cpuid(7, 0, &seven)) return found;
  look(avx2, seven.ebx, 5);
  look(avx512f, seven.ebx, 16);
  look(avx512dq, seven.ebx, 17);
  look(avx512cd, seven.ebx, 28);
  look(avx512bw, seven.ebx, 30);
  look(avx512vl, seven.ebx, 31);
  look(avx512_vnni, seven.ecx, 11);
  look(amx_bf16, seven.edx, 22);
  look(amx_tile, seven.edx, 24);
  look(amx_int8, seven.edx, 25);
  if (platform::cpuid(7, 1, &seven_one)) look(avx512_bf16, seven_one.eax, 5);
  return found;
}

// Returns the name of the first feature up to `last` that is missing; null if none is missing.
const char* missing_up_to(Feature last) {
  static const uint32_t found = detect();  // Called once, because CPUID is slow in virtual machines.
  const int first = __builtin_ctz(~found);
  return first <= last ? feature_names[first] : nullptr;
}

const char* missing_for_amx() {
  if (const char* missing = missing_up_to(last_of_amx)) return missing;
  static const bool permitted = platform::request_amx_tiles();
  return permitted ? nullptr : "the system's permission to use amx tiles";
}

#elif defined(__aarch64__)

const platform::ArmFeatures& features() {
  static const platform::ArmFeatures found = platform::arm_features();
  return found;
}

#endif

}  // namespace

const char* missing_for(Isa isa) {
  switch (isa) {
    case Isa::automatic:
    case Isa::scalar:
      return nullptr;
    case Isa::avx2:
    case Isa::avx512:
#if defined(__x86_64__)
      return missing_up_to(isa == Isa::avx2 ? last_of_avx2 : last_of_avx512);
#else
      return "an x86-64 processor";
#endif
    case Isa::neon:
#if defined(__aarch64__)
      return nullptr;
#else
      return "an aarch64 processor";
#endif
  }
  return "a known name";
}

const char* missing_for(Extension extension) {
  switch (extension) {
#if defined(__x86_64__)
    case Extension::avx512_vnni:
      return missing_up_to(last_of_vnni);
    case Extension::avx512_bf16:
      return missing_up_to(last_of_bf16);
    case Extension::amx:
      return missing_for_amx();
#else
    case Extension::avx512_vnni:
    case Extension::avx512_bf16:
    case Extension::amx:
      return "an x86-64 processor";
#endif
#if defined(__aarch64__)
    case Extension::neon_dotprod:
      return features().dotprod ? nullptr : "dotprod";
    case Extension::neon_i8mm:
      return features().i8mm ? nullptr : "i8mm";
    case Extension::neon_bf16:
      return features().bf16 ? nullptr : "bf16";
#else
    case Extension::neon_dotprod:
    case Extension::neon_i8mm:
    case Extension::neon_bf16:
      return "an aarch64 processor";
#endif
  }
  return "a known name";
}

bool machine_has(Isa isa) { return missing_for(isa) == nullptr; }
bool machine_has(Extension extension) { return missing_for(extension) == nullptr; }

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

Status check_environment() { return isa_from_environment().status(); }

}  // namespace LINFORMER_NAMESPACE
