// What the operands of an op are for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "linformer/version.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

enum class Use : uint8_t {
  result,      // written, and read where the op adds to it
  rows,        // read row by row: a buffer, or a weight of as many rows
  vector,      // a weight of one row, in f32: a bias, a scale
  matrix,      // a weight that rows are multiplied with
  projection,  // E, whose columns meet a sequence's rows; other left sides of products are rows
  table,       // a weight or a buffer of which single rows are looked up
};

// Where an operand lies in its op's struct, in bytes.
struct OperandInfo {
  uint16_t offset;
  Use use;
};

// The operands of a struct but `out`, as its operands() names them.
template <size_t count>
using OperandTable = std::array<OperandInfo, count>;

namespace ops {

// By default, the cost of an op is one read or write of each operand, and its line in a listing is "out = the other
// operand". An op with another cost declares count_cost() below its struct, and one with another line declares list().
class CostContext;  // ops/cost.h
class TextContext;  // ops/text.h

}  // namespace ops

}  // namespace LINFORMER_NAMESPACE
