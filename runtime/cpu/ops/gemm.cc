// Products whose right operand is a weight, and the products E Z and E (Z W), whose right operand is rows of a
// sequence. E is the projection that compresses keys and values, Z the rows that they are computed from, and W the
// weight of keys or values.
#include <algorithm>

#include "cpu/ops/declare.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {
namespace {

// Limits a product with a weight to the columns [from, to).
void take_columns(int64_t from, int64_t to, GemmArgs* args) {
  const int64_t columns = to - from;
  RightMatrix& b = args->b;
  if (b.layout == RightLayout::panel16) {
    b = b.part(0, b.k, from, columns);
  } else {  // A tied token embedding, which has one row for each column of the product.
    b.data = static_cast<const std::byte*>(b.data) + from * b.ld * element_bytes(b.type);
    if (b.scales != nullptr) b.scales += from;
    b.n = columns;
  }
  args->c.data = static_cast<std::byte*>(args->c.data) + from * element_bytes(args->c.type);
  args->c.cols = columns;
  Epilogue& epilogue = args->epilogue;
  if (epilogue.bias != nullptr) epilogue.bias += from;
  if (epilogue.residual.data != nullptr) {
    epilogue.residual = epilogue.residual.part(0, from, epilogue.residual.rows, columns);
  }
}

}  // namespace

Status declare_gemms(const ops::Gemm& op, const Declaration& to) {
  const Program& program = to.program;
  GemmDesc desc;
  desc.max_m = program.extents.block_rows;
  desc.n = op.out.cols;
  desc.k = op.a.cols;
  desc.layout = op.b.layout;
  desc.type = op.b.type;
  desc.left = op.a.type;
  // A left operand other than E has already been converted to the type in which it is multiplied.
  desc.compute = op.multiplies_e() ? program.target.compute_type(op.a.type) : op.a.type;
  desc.out = op.out.type;
  desc.varying_n = program.target.packs && !op.multiplies_e();  // Threads may share the product by its columns.
  desc.accumulate = op.accumulate;
  desc.activation = op.activation;
  desc.bias = op.bias.present();
  desc.row_bias = op.row_bias.present();
  desc.residual = op.residual.present();
  if (to.stage.domain == Domain::source_columns) {
    desc.max_m = op.a.rows;
    desc.n = std::min(op.out.cols, column_chunk);
    desc.varying_n = op.out.cols % desc.n != 0;
  }
  // The inner dimension of E Z and E (Z W) is the number of the sequence's rows.
  if (op.multiplies_e()) {
    desc.varying_k = true;
    desc.k = op.b.place == Place::sequence ? op.b.rows : to.longest_source();
  }
  return to.sink.add(desc, &to.ids.ops[to.op]);
}

Status run(const ops::Gemm& op, const Context& context, const Item& item) {
  GemmArgs args;
  args.epilogue.activation = op.activation;
  args.epilogue.bias = context.floats(op.bias);
  args.epilogue.accumulate = op.accumulate;
  args.b = op.multiplies_e() ? RightMatrix{nullptr, op.b.type, op.b.layout, op.a.cols, op.out.cols, op.b.ld}
                             : context.rights[static_cast<size_t>(item.op)];
  if (item.stage.domain == Domain::source_columns) {
    // The item computes a chunk of the columns of E Z, in all k rows.
    const Source source = context.key_source_of(item);
    const int64_t n = source.length(item.sequence);
    args.a = context.left(op.a, op.a.rows, n);
    args.b.data = source.rows + source.starts[item.sequence] * source.ld + item.column;
    args.b.ld = source.ld;
    args.b.k = n;
    args.b.n = item.columns;
    args.c = MutableMatrix{context.address<float>(op.out, item) + item.column, op.a.rows, item.columns, op.out.ld};
  } else {
    args.c = context.out(op.out, item);
    if (!op.multiplies_e()) {
      args.a = context.left(op.a, item);
    } else {  // E (Z W)
      const int64_t n = context.key_source_of(item).length(item.sequence);
      Item whole = item;
      whole.row = 0;
      args.b.data = context.address<float>(op.b, whole);
      args.b.k = n;
      args.a = context.left(op.a, op.a.rows, n);
      args.a.data = static_cast<const std::byte*>(args.a.data) + item.row * op.a.ld * element_bytes(op.a.type);
      args.a.rows = item.rows;
    }
    if (op.row_bias.present()) args.epilogue.row_bias = context.floats(op.row_bias) + item.row;
    if (op.residual.present()) args.epilogue.residual = context.matrix(op.residual, item);
  }
  if (item.to > 0) take_columns(item.from, item.to, &args);
  args.next_weights = item.next_weights;
  return context.provider->run(context.gemms.ops[static_cast<size_t>(item.op)], args, context.scratch(item.worker));
}

}  // namespace LINFORMER_NAMESPACE::cpu
