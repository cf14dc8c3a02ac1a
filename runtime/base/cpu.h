// What this machine can execute.
#pragma once

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// True when the processor and the operating system support `isa` (scalar: always).
bool machine_has(Isa isa);

// Instructions that some machines of a set have and others lack.
enum class Extension : uint8_t { avx512_vnni, avx512_bf16, amx, neon_dotprod, neon_i8mm, neon_bf16 };

// As LINFORMER_KERNELS of CMake has it.
constexpr const char* name_of(Extension extension) {
  constexpr const char* names[] = {"avx512_vnni", "avx512_bf16", "amx", "neon_dotprod", "neon_i8mm", "neon_bf16"};
  return names[static_cast<int>(extension)];
}

// True when the machine has what the extension's unit is compiled for (kernels/CMakeLists.txt). amx: tiles, bf16 and
// int8; the first question asks the kernel to let this process use them.
bool machine_has(Extension extension);

// What this machine lacks for them, in words that go behind "this machine lacks": "avx512_vnni", "an x86-64 processor".
// Null where it has all.
const char* missing_for(Isa isa);
const char* missing_for(Extension extension);

// The value of LINFORMER_ISA (scalar, avx2, avx512, neon), automatic when it is unset or empty. invalid_argument for
// any other value.
Result<Isa> isa_from_environment();

}  // namespace LINFORMER_NAMESPACE
