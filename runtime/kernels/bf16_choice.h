// Whether products in bf16 are faster than those in f32 on a processor.
#pragma once

#include "base/processor.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct Bf16Choice {
  bool faster = false;  // than f32: what a session takes bf16 for
  // A clause that explains `faster`, to stand behind a colon. Static text.
  const char* reason = "these kernels have no instruction for bf16 on this machine";
};

// A pure function of what the processor says of itself: nothing is timed, so that a model gives the same bits each time
// on one machine. README.md has the table, and where its rates come from.
Bf16Choice choose_bf16(const Processor& processor);

}  // namespace LINFORMER_NAMESPACE
