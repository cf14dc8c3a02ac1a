// The executor of a GPU, for those who need not know how it is made.
#pragma once

#include <memory>

#include "cuda/weights.h"
#include "linformer/version.h"
#include "program/executor.h"

namespace LINFORMER_NAMESPACE::cuda {

struct ExecutorOptions {
  int device = 0;
  void* stream = nullptr;       // the caller's cudaStream_t; null: one of the executor's own
  bool device_outputs = false;  // what Request points to is in the device's memory; run() doesn't wait
  bool tf32 = false;
  bool profile = false;
};

// Whether it multiplies bf16: from sm_80 on.
Result<bool> multiplies_bf16(int device);

// Products are computed in program.target.all: f32, f16, or bf16 where multiplies_bf16(). The store outlives it.
Result<std::unique_ptr<Executor>> create_executor(Program program, std::span<const std::byte* const> weights,
                                                  WeightStore& store, const ExecutorOptions& options);

}  // namespace LINFORMER_NAMESPACE::cuda
