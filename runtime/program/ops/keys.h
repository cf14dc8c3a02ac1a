// Keys and values of a text on their way to what queries read. Their stage says of which layer they are.
#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// A head's keys (side 0) or values (1) from its columns of Z W: linear, convolution or pooling
struct Compress {
  View out, projected;
  int32_t side = 0;

  OperandList operands() { return {{&projected, Use::rows}}; }
};

// K^T and V of one head of a sequence, as panels
struct Pack {
  View out;

  OperandList operands() { return {}; }
};

// (Z W)^T and Z W of one head of a short sequence, as panels
struct PackRows {
  View out;

  OperandList operands() { return {}; }
};

// K^T (side 0) or V (1) of a block of rows as panels, full attention
struct PackBlock {
  View out, projected;
  int32_t side = 0;

  OperandList operands() { return {{&projected, Use::rows}}; }
};

}  // namespace LINFORMER_NAMESPACE::ops
