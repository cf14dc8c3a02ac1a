#include "program/ops/outputs.h"

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE::ops {
namespace {

// Counts the bytes of `count` rows of a buffer, or of one row of a table for each token of the sequence.
void count_rows(const View& rows, double count, CostContext& context) {
  if (rows.place == Place::weight) {
    context.add_bytes(product(context.rows(), rows.cols), element_bytes(rows.type));
  } else {
    context.add(rows, count);
  }
}

}  // namespace

void count_cost(const Pool& op, CostContext& context) {
  const bool all = op.pooling != Pooling::first_token;
  count_rows(op.rows, all ? static_cast<double>(context.rows()) : context.stage_rows(), context);
  context.add(op.out);
}

void count_cost(const Expand& op, CostContext& context) {
  count_rows(op.rows, context.stage_rows(), context);
  context.add(op.second);
  context.add(op.out);
}

// The rows are counted twice, because they are read and written.
void count_cost(const NormalizeLength& op, CostContext& context) {
  context.add(op.out);
  context.add(op.out);
}

}  // namespace LINFORMER_NAMESPACE::ops
