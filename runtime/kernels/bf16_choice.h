// Decides whether products in bf16 are faster than products in f32 on a processor.
#pragma once

#include "base/processor.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct Bf16Choice {
  bool faster = false;  // Whether bf16 is faster than f32.
  // A clause that explains `faster`, for messages that put it after a colon. It is never freed.
  const char* reason = "these kernels have no instruction for bf16 on this machine";
};

// Returns the choice for a processor. It is a pure function of what the processor reports about itself. Nothing is
// timed, so that a model gives the same bits in every run on one machine. README.md has the table of processors and the
// sources of the rates.
Bf16Choice choose_bf16(const Processor& processor);

}  // namespace LINFORMER_NAMESPACE
