// The code of every op on a GPU, each in the file of its name: launches and products in the context's stream. Errors
// are those of the stream; the ops that only a CPU has are errors too.
#pragma once

#include "cuda/context.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cuda {

#define LINFORMER_ROW(Struct, kind, name) Status run(const ops::Struct& op, Context& context, const Item& item);
LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW

}  // namespace LINFORMER_NAMESPACE::cuda
