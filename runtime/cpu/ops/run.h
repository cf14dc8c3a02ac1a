// Declares run() for every op on the CPU. An op's run() is defined in the file that has the name of the op's header in
// program/ops. run() computes the item's rows of `out` from the op's operands. Only ops with GEMMs can fail, with the
// errors of the GEMM provider.
#pragma once

#include "cpu/context.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cpu {

#define LINFORMER_ROW(Struct, kind, name) Status run(const ops::Struct& op, const Context& context, const Item& item);
LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW

}  // namespace LINFORMER_NAMESPACE::cpu
