// Decides in which types a session computes products and attention, and explains the decision.
#pragma once

#include "kernels/bf16_choice.h"
#include "linformer/session.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// Returns whether a session would be faster in bf16 than in f32 on a machine that the caller describes.
Bf16Choice choose_planned_bf16(const SessionOptions& options, const Machine& machine);

// Returns invalid_argument for unknown values, and for types that the backend or device can't compute in.
Status check_precision(const SessionOptions& options);

// Sets the types of products and attention in a CPU's target. check_precision() must have accepted the options.
void choose_precision(const SessionOptions& options, const Bf16Choice& bf16, Target* target);

// Writes plan->precision. fill_plan() must have set the plan's types. `bf16` must be the argument of
// choose_precision().
void explain_precision(const Bf16Choice& bf16, Plan* plan);

}  // namespace LINFORMER_NAMESPACE
