// What a session multiplies in, and why.
#pragma once

#include "kernels/bf16_choice.h"
#include "linformer/session.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// Whether a session would be faster in bf16 on a machine that the caller describes.
Bf16Choice planned_bf16(const SessionOptions& options, const Machine& machine);

// invalid_argument for values that there aren't, and for types that the backend or device can't be asked for.
Status check_precision(const SessionOptions& options);

// The part of a CPU's target that says what is multiplied in which type. The options are checked.
void choose_precision(const SessionOptions& options, const Bf16Choice& bf16, Target* target);

// Writes plan->precision, after publish() has set the types. `bf16` is what choose_precision() was given.
void explain_precision(const Bf16Choice& bf16, Plan* plan);

}  // namespace LINFORMER_NAMESPACE
