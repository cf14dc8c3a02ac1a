// The instruction sets that this machine can execute.
#pragma once

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns whether the processor and the operating system support `isa`. Every machine supports scalar.
bool machine_has(Isa isa);

// Extensions of an instruction set: instructions that only some of the machines with the set have.
enum class Extension : uint8_t { avx512_vnni, avx512_bf16, amx, neon_dotprod, neon_i8mm, neon_bf16 };

// Returns the extension's name, as the CMake option LINFORMER_KERNELS spells it.
constexpr const char* name_of(Extension extension) {
  constexpr const char* names[] = {"avx512_vnni", "avx512_bf16", "amx", "neon_dotprod", "neon_i8mm", "neon_bf16"};
  return names[static_cast<int>(extension)];
}

// Returns whether the machine has all instructions that the extension's kernels are compiled for
// (kernels/CMakeLists.txt). For amx these are tiles, bf16 and int8, and the first call asks the operating system to let
// this process use tiles.
bool machine_has(Extension extension);

// Returns what this machine lacks for an instruction set or an extension, in words that can follow "this machine
// lacks": "avx512_vnni", "an x86-64 processor". Returns null if it lacks nothing.
const char* missing_for(Isa isa);
const char* missing_for(Extension extension);

// Returns the value of the environment variable LINFORMER_ISA (scalar, avx2, avx512, neon), or automatic if it is unset
// or empty. Any other value is an error (invalid_argument).
Result<Isa> isa_from_environment();

}  // namespace LINFORMER_NAMESPACE
