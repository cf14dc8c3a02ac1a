// The code of every op on the CPU, each in the file of its name. An item's rows of `out` are made from its operands.
// Errors are those of the GEMM provider; other ops can't fail.
#pragma once

#include "cpu/context.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cpu {

#define LINFORMER_ROW(Struct, kind, name) Status run(const ops::Struct& op, const Context& context, const Item& item);
LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW

}  // namespace LINFORMER_NAMESPACE::cpu
