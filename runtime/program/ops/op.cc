#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE {

const char* name_of(OpKind kind) {
#define LINFORMER_ROW(Struct, kind, name) name,
  static constexpr const char* names[] = {LINFORMER_OPS(LINFORMER_ROW)};
#undef LINFORMER_ROW
  return names[static_cast<int>(kind)];
}

namespace {

constexpr int kinds = 0
#define LINFORMER_ROW(Struct, kind, name) +1
    LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW
    ;

// The operands of all kinds of ops one after the other, and the index where the operands of each kind begin.
struct Table {
  OperandInfo operands[96] = {};
  uint8_t first[kinds + 1] = {};
};

constexpr Table table = [] {
  Table made;
  int kind = 0, next = 0;
  const auto add = [&](const auto& operands) {
    made.first[kind++] = static_cast<uint8_t>(next);
    made.operands[next++] = {0, Use::result};
    for (const OperandInfo& operand : operands) made.operands[next++] = operand;
  };
#define LINFORMER_ROW(Struct, kind, name) add(ops::Struct::operands());
  LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW
  made.first[kind] = static_cast<uint8_t>(next);
  return made;
}();

}  // namespace

int operand_count(OpKind kind) {
  const int index = static_cast<int>(kind);
  return table.first[index + 1] - table.first[index];
}

Operand operand_of(Op& op, int i) {
  const OperandInfo& info = table.operands[table.first[static_cast<int>(op.kind())] + i];
  return {*reinterpret_cast<View*>(reinterpret_cast<std::byte*>(&op.out()) + info.offset), info.use};
}

}  // namespace LINFORMER_NAMESPACE
