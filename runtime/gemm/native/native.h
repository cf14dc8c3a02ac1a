// The self-contained provider: the kernels of this machine's instruction set and nothing else.
#pragma once

#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

Result<std::unique_ptr<GemmProvider>> make_native_provider(const Kernels& kernels);

// Its part of planned_scratch_bytes().
uint64_t native_scratch_bytes(const GemmDesc& desc);

}  // namespace LINFORMER_NAMESPACE
