#include "program/cost.h"

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE {
namespace ops {
namespace {

template <class Struct>
concept CountsItself = requires(const Struct& op, CostContext& context) {
  count_cost(op, context);
};

}  // namespace

CostContext::CostContext(const Program& program, const Stage& stage, int64_t rows, int64_t source, int64_t positions)
    : program_(program),
      stage_(stage),
      rows_(rows),
      source_(source),
      m_(rows_for_sequence(stage, rows, source, positions)) {}

void CostContext::add(const View& view, double rows) {
  const bool is_weight = view.place == Place::weight;
  const double bytes = product(is_weight ? static_cast<double>(view.rows) : rows, view.cols, element_bytes(view.type));
  (is_weight ? cost_.weight_bytes : cost_.bytes) += bytes;
}

}  // namespace ops

bool applies(const Stage& stage, int64_t rows, int64_t states) {
  return stage.lengths.has(stage.key_rows.reads_states(states > 0) ? states : rows);
}

Cost cost_of(const Program& program, const Stage& stage, const Op& op, int64_t rows, int64_t states,
             int64_t positions) {
  if (!applies(stage, rows, states)) return {};
  const int64_t source = stage.key_rows.reads_states(states > 0) ? states : rows;
  ops::CostContext context(program, stage, rows, source, positions);
  bool counts_itself = false;
  with_struct(op, [&]<class Struct>(const Struct& own) {
    if constexpr (ops::CountsItself<Struct>) {
      count_cost(own, context);
      counts_itself = true;
    }
  });
  if (counts_itself) return context.cost();
  Op copy = op;
  for (int i = 0; i < operand_count(op.kind()); ++i) context.add(operand_of(copy, i).view);
  return context.cost();
}

}  // namespace LINFORMER_NAMESPACE
