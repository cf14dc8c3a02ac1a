#include "program/ops/text.h"

namespace LINFORMER_NAMESPACE::ops {

void write_text(const Gemm& op, TextContext& context) {
  FixedText& text = context.text();
  const int64_t source = context.source_rows();
  context.write_view(op.out);
  const bool activated = op.activation != Activation::none;
  text.add(" %s= %s%s", op.accumulate ? "+" : "", activated ? name_of(op.activation) : "", activated ? "(" : "");
  if (op.multiplies_e()) {
    text.add("%s[%lld, %lld]%s x ", context.tensor_name(op.a), static_cast<long long>(context.rows_of_e(op.a)),
             static_cast<long long>(source), TextContext::type_name(op.a));
  } else {
    context.write_view(op.a);
    text.add(" x ");
  }
  View b = op.b;
  if (op.multiplies_e() && b.place != Place::source) b.rows = source;
  context.write_view(b);
  if (!op.multiplies_e() && (op.a.cols < b.cols || op.out.cols < b.rows)) {
    text.add("[%lld.., %lld..]", static_cast<long long>(op.first_n), static_cast<long long>(op.first_k));
  }
  if (op.row_bias.present()) text.add(" + row bias");
  if (op.bias.present()) text.add(" + bias");
  if (activated) text.add(")");
  if (op.residual.present()) {
    text.add(" + ");
    context.write_view(op.residual);
  }
}

}  // namespace LINFORMER_NAMESPACE::ops
