// Creates the executor for a GPU. Callers don't need to include the headers of the executor.
#pragma once

#include <memory>

#include "cuda/weights.h"
#include "linformer/version.h"
#include "program/executor.h"

namespace LINFORMER_NAMESPACE::cuda {

struct ExecutorOptions {
  int device = 0;
  void* stream = nullptr;  // The caller's cudaStream_t. If null, the executor creates a stream.
  // The outputs of a Request are in the device's memory. If `stream` is set, too, run() doesn't wait for them.
  bool device_outputs = false;
  bool tf32 = false;  // Products in f32 may round their operands to TF32, whose fraction has 10 bits.
  bool profile = false;
};

// Returns whether the device multiplies bf16 (compute capability 8.0 or higher).
Result<bool> multiplies_bf16(int device);

// Creates an executor. Products are computed in the type program.target.all, which is f32, f16, or bf16 if
// multiplies_bf16(). `store` must outlive the executor.
Result<std::unique_ptr<Executor>> create_executor(Program program, std::span<const std::byte* const> weights,
                                                  WeightStore& store, const ExecutorOptions& options);

}  // namespace LINFORMER_NAMESPACE::cuda
