#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE {

const char* name_of(OpKind kind) {
#define LINFORMER_ROW(Struct, kind, name) name,
  static constexpr const char* names[] = {LINFORMER_OPS(LINFORMER_ROW)};
#undef LINFORMER_ROW
  return names[static_cast<int>(kind)];
}

OperandList operands_of(Op& op) {
  OperandList list = {{&op.out(), Use::result}};
  for (const Operand& operand : with_struct(op, [](auto& own) { return own.operands(); })) list.add(operand);
  return list;
}

}  // namespace LINFORMER_NAMESPACE
