// The native provider, which needs only the kernels of this machine's instruction set.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Result<std::unique_ptr<GemmProvider>> make_native_provider(const Kernels& kernels);

// Returns planned_scratch_bytes() for the native provider.
uint64_t native_scratch_bytes(const GemmDesc& desc);

}  // namespace LINFORMER_NAMESPACE
