// Checks of the ops for which a GPU may have no kernel. Each is defined in the file that runs the op.
#pragma once

#include "linformer/status.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cuda {

// Each function returns an error that names the op if a GPU has no kernel for it.
Status check(const ops::Attend& op);
Status check(const ops::Gemm& op);
Status check(const ops::Pack& op);
Status check(const ops::PackRows& op);
Status check(const ops::PackBlock& op);
Status check(const ops::Pool& op);

}  // namespace LINFORMER_NAMESPACE::cuda
