#include "session/precision.h"

#include <cstdio>
#include <cstring>

#include "gemm/gemm.h"

namespace LINFORMER_NAMESPACE {
namespace {

bool computes_bf16(Compute compute, const Bf16Choice& bf16) {
  return compute == Compute::bf16 || (compute == Compute::automatic && bf16.faster);
}

bool narrow(ElementType type) { return type == ElementType::bf16 || type == ElementType::int8; }

// Returns why a CPU's session computes in bf16 or in f32, if it could do both.
const char* bf16_reason(Compute compute, const Bf16Choice& bf16) {
  switch (compute) {
    case Compute::automatic:
      return bf16.reason;
    case Compute::no_bf16:
      return "the options ask for no bf16";
    case Compute::f32:
      return "the options ask for f32";
    case Compute::bf16:
      break;
  }
  return "the options ask for bf16";
}

const char* weights_reason(const Plan& plan, const Bf16Choice& bf16) {
  const SessionOptions& options = plan.options;
  if (plan.weights == ElementType::f32 && options.cuda.device < 0) return "the file has them in f32";
  if (plan.weights != ElementType::f32 && options.run.compute == Compute::f32) return "the options ask for f32";
  if (options.cuda.device >= 0) {
    if (plan.weights == ElementType::int8) return "a GPU multiplies int8 in f16";
    if (plan.weights == plan.compute) return "the file has them in this type";
    return options.run.compute == Compute::no_bf16 ? "the options ask for no bf16"
                                                   : "a GPU multiplies bf16 from compute capability 8.0 on";
  }
  if (options.cpu.backend != BackendKind::native) return "the backend multiplies f32 alone";
  if (plan.weights == ElementType::f16) return "f16 is always widened";
  if (plan.weights == ElementType::int8) return "every CPU can multiply int8 without conversion";
  return bf16_reason(options.run.compute, bf16);
}

const char* attention_reason(const Plan& plan, const Bf16Choice& bf16) {
  const SessionOptions& options = plan.options;
  if (options.cuda.device >= 0 || options.cpu.backend != BackendKind::native) return weights_reason(plan, bf16);
  if (options.run.attention_compute != AttentionCompute::automatic) return "the options ask for it";
  if (!narrow(plan.weights)) return weights_reason(plan, bf16);
  return bf16_reason(options.run.compute, bf16);
}

}  // namespace

Bf16Choice choose_planned_bf16(const SessionOptions& options, const Machine& machine) {
  const bool may_have = options.cpu.isa != Isa::scalar && options.cpu.isa != Isa::avx2;
  if (!may_have && options.cuda.device < 0) return {false, "the plan is for an instruction set without bf16"};
  if (machine.bf16) return {true, "the plan is for a machine that is faster in bf16 than in f32"};
  return {false, "the plan is for a machine that isn't faster in bf16 than in f32"};
}

Status check_precision(const SessionOptions& options) {
  if (options.run.compute > Compute::bf16) {
    return Status::error(Code::invalid_argument, "there is no compute number %d",
                         static_cast<int>(options.run.compute));
  }
  if (options.run.attention_compute > AttentionCompute::bf16) {
    return Status::error(Code::invalid_argument, "there is no attention_compute number %d",
                         static_cast<int>(options.run.attention_compute));
  }
  if (options.cuda.device >= 0) {
    if (options.run.attention_compute == AttentionCompute::automatic) return {};
    return Status::error(
        Code::invalid_argument,
        "attention_compute is %d: a GPU computes attention in the type of products; leave it automatic",
        static_cast<int>(options.run.attention_compute));
  }
  const bool asks_bf16 =
      options.run.compute == Compute::bf16 || options.run.attention_compute == AttentionCompute::bf16;
  if (asks_bf16 && options.cpu.backend != BackendKind::native) {
    return Status::error(Code::invalid_argument, "the options ask for bf16: only the native backend multiplies it");
  }
  return {};
}

void choose_precision(const SessionOptions& options, const Bf16Choice& bf16, Target* target) {
  if (options.cpu.backend != BackendKind::native) return;
  target->bf16 = computes_bf16(options.run.compute, bf16);
  target->int8 = options.run.compute != Compute::f32;
  const auto attention = [&](bool otherwise) {
    const bool chosen = options.run.attention_compute == AttentionCompute::automatic
                            ? otherwise
                            : options.run.attention_compute == AttentionCompute::bf16;
    return chosen ? ElementType::bf16 : ElementType::f32;
  };
  target->narrow_attention = attention(target->bf16);
  target->wide_attention = attention(false);
}

void explain_precision(const Bf16Choice& bf16, Plan* plan) {
  const char *weights = name_of(plan->weights), *compute = name_of(plan->compute),
             *attention = name_of(plan->attention_compute);
  const char *of_weights = weights_reason(*plan, bf16), *of_attention = attention_reason(*plan, bf16);
  char start[64];
  std::snprintf(start, sizeof start, "%seights in %s are multiplied in %s", plan->other_compute ? "Most w" : "W",
                weights, compute);
  if (std::strcmp(of_weights, of_attention) == 0) {
    std::snprintf(plan->precision, sizeof plan->precision, "%s, and attention is computed in %s: %s.", start, attention,
                  of_weights);
  } else {
    std::snprintf(plan->precision, sizeof plan->precision, "%s (%s), and attention is computed in %s (%s).", start,
                  of_weights, attention, of_attention);
  }
}

}  // namespace LINFORMER_NAMESPACE
