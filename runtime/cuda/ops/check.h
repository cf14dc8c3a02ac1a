// Ops for which a GPU may lack a kernel, each checked in the file that runs it.
#pragma once

#include "linformer/status.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cuda {

// `unsupported`, with a sentence that names the op, where a GPU has no kernel for it.
Status check(const ops::Attend& op);
Status check(const ops::Gemm& op);
Status check(const ops::Pack& op);
Status check(const ops::PackRows& op);
Status check(const ops::PackBlock& op);
Status check(const ops::Pool& op);

}  // namespace LINFORMER_NAMESPACE::cuda
