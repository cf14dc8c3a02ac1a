#include "program/ops/embed.h"

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE::ops {
namespace {

// Counts one row of the table and one row of `out` for each row that the stage computes.
void count_looked_up(const View& table, const View& out, CostContext& context) {
  context.add_bytes(product(context.stage_rows(), table.cols), element_bytes(table.type));
  context.add(out);
}

}  // namespace

void count_cost(const Gather& op, CostContext& context) { count_looked_up(op.table, op.out, context); }
void count_cost(const AddPosition& op, CostContext& context) { count_looked_up(op.table, op.out, context); }
void count_cost(const AddType& op, CostContext& context) { count_looked_up(op.table, op.out, context); }

}  // namespace LINFORMER_NAMESPACE::ops
