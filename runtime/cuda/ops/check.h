// Checks of the ops for which a GPU may have no kernel. Each is defined in the file that runs the op,
// and no_kernel() in keys.cc.
#pragma once

#include "linformer/status.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cuda {

// Returns the error of an op for which no GPU has a kernel.
Status no_kernel(OpKind kind);

// Each function returns an error that names the op if a GPU has no kernel for it.
Status check_supported(const ops::Attend& op);
Status check_supported(const ops::Gemm& op);
Status check_supported(const ops::Pack& op);
Status check_supported(const ops::PackRows& op);
Status check_supported(const ops::PackBlock& op);
Status check_supported(const ops::Pool& op);

}  // namespace LINFORMER_NAMESPACE::cuda
