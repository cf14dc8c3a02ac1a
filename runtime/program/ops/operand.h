// What the operands of an op are for.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "linformer/version.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

enum class Use : uint8_t {
  result,      // written, and read where the op adds to it
  rows,        // read row by row: a buffer, or a weight of as many rows
  vector,      // a weight of one row, in f32: a bias, a scale
  matrix,      // a weight that rows are multiplied with
  projection,  // E, which a text's rows are multiplied with: a longer text meets more of its columns
  table,       // a weight or a buffer of which single rows are looked up
};

struct Operand {
  View* view;
  Use use;
};

// The operands that an op has beside `out`, or with it.
struct OperandList {
  static constexpr int most = 9;
  Operand items[most];
  int count = 0;

  OperandList() = default;
  OperandList(std::initializer_list<Operand> list) {
    for (const Operand& operand : list) add(operand);
  }
  void add(const Operand& operand) { items[count++] = operand; }
  const Operand* begin() const { return items; }
  const Operand* end() const { return items + count; }
};

}  // namespace LINFORMER_NAMESPACE
