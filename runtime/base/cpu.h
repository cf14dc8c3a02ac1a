// What this machine can execute.
#pragma once

#include "linformer/types.h"

namespace linformer {

// True when the processor and the operating system support `isa` (scalar: always).
bool machine_has(Isa isa);

// The value of LINFORMER_ISA (scalar, avx2, avx512, neon), or automatic when unset or not one of them.
Isa isa_from_environment();

}  // namespace linformer
