// What this machine can execute.
#pragma once

#include "linformer/status.h"
#include "linformer/types.h"

namespace linformer {

// True when the processor and the operating system support `isa` (scalar: always).
bool machine_has(Isa isa);

// The value of LINFORMER_ISA (scalar, avx2, avx512, neon), automatic when it is unset or empty. invalid_argument for
// any other value.
Result<Isa> isa_from_environment();

}  // namespace linformer
