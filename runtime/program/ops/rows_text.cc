#include "program/ops/text.h"

namespace LINFORMER_NAMESPACE::ops {

namespace {

void list_sum(const View& out, const View& added, TextContext& context) {
  context.write_view(out);
  context.text().add(" += ");
  context.write_view(added);
}

}  // namespace

void write_text(const Gather& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" = ");
  context.write_view(op.table);
  if (op.scale != 1.f) context.text().add(" x %g", static_cast<double>(op.scale));
}

void write_text(const AddPosition& op, TextContext& context) { list_sum(op.out, op.table, context); }
void write_text(const AddType& op, TextContext& context) { list_sum(op.out, op.table, context); }
void write_text(const Add& op, TextContext& context) { list_sum(op.out, op.from, context); }

void write_text(const Zero& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" = 0%s", op.which == ZeroRows::all    ? ""
                               : op.which == ZeroRows::pads ? " for pads"
                                                            : " where masked");
}

void write_text(const Norm& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" = norm of ");
  context.write_view(op.from);
  context.text().add(" by %s", context.tensor_name(op.scale));
}

void write_text(const Activate& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" = %s", name_of(op.activation));
}

void write_text(const Gate& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(op.activation == Activation::none ? " = " : " = %s of ", name_of(op.activation));
  context.write_view(op.from);
  context.text().add(" x ");
  context.write_view(op.factor);
}

void write_text(const Rotate& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" turned by position");
}

void write_text(const AddRowSums& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" += row sums of %s x bias", context.tensor_name(op.e));
}

void write_text(const ScaleByLength& op, TextContext& context) {
  context.write_view(op.out);
  if (op.scale == LengthScale::inverse_root) {
    context.text().add(" divided by the root of n");
  } else {
    context.text().add(" x norms of rows of %s, whole by first n", context.tensor_name(op.e));
  }
}

void write_text(const Probabilities& op, TextContext& context) {
  context.text().add("%s", op.softmax                          ? "softmax"
                           : op.activation == Activation::none ? "as they are"
                                                               : name_of(op.activation));
}

void write_text(const NormalizeLength& op, TextContext& context) {
  context.write_view(op.out);
  context.text().add(" divided by their length");
}

}  // namespace LINFORMER_NAMESPACE::ops
