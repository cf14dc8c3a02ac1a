// Which executor runs a session, and what it multiplies natively.
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
  if (options.device >= 0) return unsupported_device();
#endif
  return {};
}

Result<bool> multiplies_bf16(const SessionOptions& options, const Kernels& kernels) {
  if (options.device < 0) return kernels.native_bf16;
#if defined(LINFORMER_HAS_CUDA)
  return cuda::multiplies_bf16(options.device);
#else
  return unsupported_device();
#endif
}

Result<std::unique_ptr<Executor>> create_executor(Program program, const SessionOptions& options,
                                                  const Kernels& kernels, ExecutorWeights& weights) {
  if (options.device >= 0) {
#if defined(LINFORMER_HAS_CUDA)
    return cuda::create_executor(
        std::move(program), weights.tensors, weights.on_devices,
        {options.device, options.stream, options.device_outputs, options.tf32, options.profile});
#else
    return unsupported_device();
#endif
  }
  Result<std::unique_ptr<CpuExecutor>> executor =
      CpuExecutor::create(std::move(program), options.backend, kernels, weights.tensors, options.profile,
                          {options.parallel, options.parallel_context});
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
