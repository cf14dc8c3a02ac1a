// Runs an op on a GPU: queues launches and products in the context's stream. Each op is defined in the file that has
// the name of its header in program/ops. Errors: those of the stream, and `unsupported` for ops that only a CPU can
// run.
#pragma once

#include "cuda/context.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cuda {

#define LINFORMER_ROW(Struct, kind, name) Status run(const ops::Struct& op, Context& context, const Item& item);
LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW

}  // namespace LINFORMER_NAMESPACE::cuda
