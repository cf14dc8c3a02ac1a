#include "kernels/bf16_choice.h"

#include <cstring>

namespace LINFORMER_NAMESPACE {

Bf16Choice choose_bf16(const Processor& processor) {
  if (processor.amx) return {true, "AMX multiplies bf16 many times as fast as f32 is multiplied without it"};
  if (processor.neon_bf16) return {true, "BFDOT multiplies bf16 twice as fast as f32 is multiplied"};
  if (!processor.avx512_bf16) return {};
  const auto made_by = [&](const char* vendor) { return std::strcmp(processor.vendor, vendor) == 0; };
  if (made_by("AuthenticAMD")) return {true, "AMD's AVX512-BF16 multiplies bf16 twice as fast as f32 is multiplied"};
  if (!made_by("GenuineIntel"))
    return {false, "it is not known whether this processor's AVX512-BF16 is faster than f32"};
  // Skylake-X and Cascade Lake have the same model number as Cooper Lake, but no AVX512-BF16. A virtual machine on a
  // newer processor may show this number too, because Cooper Lake is the only model that hypervisors know with
  // AVX512-BF16 and without AMX.
  const bool cooper_lake = processor.family == 6 && processor.model == 85;
  if (cooper_lake && !processor.is_virtual) return {true, "Cooper Lake's AVX512-BF16 multiplies bf16 faster than f32"};
  return {false, "Intel's AVX512-BF16 multiplies bf16 half as fast as f32 is multiplied, where there is no AMX"};
}

}  // namespace LINFORMER_NAMESPACE
