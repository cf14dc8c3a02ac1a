// Chooses the executor that runs a session, and finds out whether it is faster in bf16.
#include "session/state.h"

namespace LINFORMER_NAMESPACE {
namespace {

#if !defined(LINFORMER_HAS_CUDA)
Status unsupported_device() {
  return Status::error(Code::unsupported,
                       "this build has no CUDA: configure it with -DLINFORMER_CUDA=ON, or use the CPU");
}
#endif

}  // namespace

Status check_device([[maybe_unused]] const SessionOptions& options) {
#if !defined(LINFORMER_HAS_CUDA)
  if (options.cuda.device >= 0) return unsupported_device();
#endif
  return {};
}

Result<Bf16Choice> choose_session_bf16(const SessionOptions& options, const Kernels& kernels) {
  LINFORMER_TRY(check_precision(options));
  if (options.cuda.device < 0) {
    const bool asked = options.run.compute == Compute::bf16 || options.run.attention_compute == AttentionCompute::bf16;
    if (!asked || kernels.gemm_bf16 != nullptr) return kernels.bf16;
    return Status::error(Code::unsupported,
                         "the options ask for bf16, and the %s kernels have no instruction for it on this machine: "
                         "leave compute and attention_compute automatic",
                         name_of(kernels.isa));
  }
#if defined(LINFORMER_HAS_CUDA)
  const Result<bool> multiplies = cuda::multiplies_bf16(options.cuda.device);
  if (!multiplies.ok()) return multiplies.status();
  if (options.run.compute == Compute::bf16 && !*multiplies) {
    return Status::error(Code::unsupported,
                         "the options ask for bf16, which a GPU multiplies from compute capability 8.0 on: leave "
                         "compute automatic");
  }
  return Bf16Choice{*multiplies, "a GPU multiplies bf16 from compute capability 8.0 on"};
#else
  return unsupported_device();
#endif
}

Result<std::unique_ptr<Executor>> create_executor(Program program, const SessionOptions& options,
                                                  const Kernels& kernels, ExecutorWeights& weights) {
  if (options.cuda.device >= 0) {
#if defined(LINFORMER_HAS_CUDA)
    return cuda::create_executor(std::move(program), weights.tensors, weights.on_devices,
                                 {options.cuda.device, options.stream.handle, options.stream.outputs_on_device,
                                  options.cuda.tf32, options.profile});
#else
    return unsupported_device();
#endif
  }
  Result<std::unique_ptr<CpuExecutor>> executor =
      CpuExecutor::create(std::move(program), options.cpu.backend, kernels, weights.tensors, options.profile,
                          {options.cpu.parallel, options.cpu.parallel_context});
  if (!executor.ok()) return executor.status();
  return std::unique_ptr<Executor>(std::move(executor.value()));
}

uint64_t PreparedWeights::bytes() const {
#if defined(LINFORMER_HAS_CUDA)
  return data_->weights.on_devices.bytes();
#else
  return 0;
#endif
}

}  // namespace LINFORMER_NAMESPACE
