#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = softmax(query K^T) V, head by head. Without `query`, out holds the queries, and the context takes their place.
struct Attend {
  View out, query;

  OperandList operands() { return {{&query, Use::rows}}; }
};

}  // namespace LINFORMER_NAMESPACE::ops
