// What the machine's arithmetic units can do at most, measured.
#pragma once

#include "linformer/types.h"

namespace linformer::bench {

// f32 GFLOP/s of `threads` threads that only multiply and add in registers, with the widest instruction set that this
// machine has. The best of several short runs: a busy machine measures low, never high. Takes about 0.6 s.
double measure_f32_limit(int threads);

// The instruction set that measure_f32_limit uses.
Isa widest_isa();

}  // namespace linformer::bench
