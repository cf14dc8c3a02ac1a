// How an op uses its operands, and where they lie in its struct.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "linformer/version.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

enum class Use : uint8_t {
  result,      // The op writes this operand. If the op adds to the operand, it also reads it.
  rows,        // The op reads it row by row. It is a buffer, or a weight such as a token embedding that is pooled.
  vector,      // A weight of one row in f32, such as a bias or a scale.
  matrix,      // A weight that rows are multiplied by, or the rows that E is multiplied by.
  projection,  // The projection E. As the left operand of a product it may be rows instead.
  table,       // A weight or a buffer in which the op looks up single rows.
};

// The offset of an operand in its op's struct, in bytes, and its use.
struct OperandInfo {
  uint16_t offset;
  Use use;
};

// The operands of a struct except `out`, as its operands() returns them.
template <size_t count>
using OperandTable = std::array<OperandInfo, count>;

namespace ops {

// By default, the cost of an op is one read or write of each operand, and its line in a listing is "out = the other
// operand". An op with another cost declares count_cost() below its struct, and one with another line declares
// write_text().
class CostContext;  // ops/cost.h
class TextContext;  // ops/text.h

}  // namespace ops

}  // namespace LINFORMER_NAMESPACE
