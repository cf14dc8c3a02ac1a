// Products with weights on the right, and E Z and E (Z W) with rows there.
#include <algorithm>

#include "base/storage.h"
#include "cpu/executor.h"

namespace LINFORMER_NAMESPACE {

namespace {

// Columns [from, to) of a product with a weight.
void take_columns(int64_t from, int64_t to, GemmArgs* args) {
  const int64_t columns = to - from;
  RightMatrix& b = args->b;
  if (b.layout == RightLayout::panel16) {
    b = b.part(0, b.k, from, columns);
  } else {  // a tied output: a row each
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

Status CpuExecutor::gemm(const Op& op, const Item& item) const {
  GemmArgs args;
  args.epilogue.activation = op.activation;
  args.epilogue.bias = floats(op.bias);
  args.b = {nullptr, op.b.type, op.b.layout, op.a.cols, op.out.cols, op.b.ld};
  args.epilogue.accumulate = op.accumulate;
  if (op.b.place == Place::weight) args.b = right(op);
  if (item.stage.domain == Domain::source_columns) {
    // A chunk of the columns of E Z, all k rows.
    const Source source = source_of(attention_of(item));
    const int64_t n = source.length(item.sequence);
    args.a = left(op.a, op.a.rows, n);
    args.b.data = source.rows + source.starts[item.sequence] * source.ld + item.column;
    args.b.ld = source.ld;
    args.b.k = n;
    args.b.n = item.columns;
    args.c = MutableMatrix{address(op.out, item) + item.column, op.a.rows, item.columns, op.out.ld};
  } else {
    args.c = matrix(op.out, item);
    args.c.type = op.out.type;
    if (op.b.place == Place::weight) {
      args.a = left(op.a, item);
    } else {  // E (Z W)
      const int64_t n = source_of(attention_of(item)).length(item.sequence);
      Item whole = item;
      whole.row = 0;
      args.b.data = address(op.b, whole);
      args.b.k = n;
      args.a = left(op.a, op.a.rows, n);
      args.a.data = static_cast<const std::byte*>(args.a.data) + item.row * op.a.ld * element_bytes(op.a.type);
      args.a.rows = item.rows;
    }
    if (op.residual.present()) args.epilogue.residual = matrix(op.residual, item);
    if (op.row_bias.present()) args.epilogue.row_bias = floats(op.row_bias) + item.row;
  }
  if (item.to > 0) take_columns(item.from, item.to, &args);
  args.next_weights = next_weights(op, item);
  const ptrdiff_t index = &op - program_.ops.data();
  return provider_->run(gemms_.ops[static_cast<size_t>(index)], args, scratch(item.worker));
}

LeftMatrix CpuExecutor::left(const View& view, const Item& item) const {
  LeftMatrix a = matrix(view, item);
  a.type = view.type;
  if (view.type == ElementType::int8) {
    // Behind each row's elements.
    a.scales = reinterpret_cast<const RowScale*>(static_cast<const std::byte*>(a.data) + narrow_codes_bytes(view.cols));
    a.scales_ld = view.ld / static_cast<int64_t>(sizeof(RowScale));
  }
  return a;
}

// The weight of a product, or the part of it that is multiplied.
RightMatrix CpuExecutor::right(const Op& op) const {
  const View& view = op.b;
  if (view.layout != RightLayout::panel16) return right(view, op.a.cols, op.out.cols);
  return right(view, view.cols, view.rows).part(op.first_k, op.a.cols, op.first_n, op.out.cols);
}

RightMatrix CpuExecutor::right(const View& view, int64_t k, int64_t n) const {
  RightMatrix b{tensor(view), view.type, view.layout, k, n, view.ld};
  if (view.type != ElementType::int8) return b;
  StoredParts storage;  // the file was checked
  const bool panels = view.layout == RightLayout::panel16;
  if (!parts_of(view.type, panels ? TensorLayout::panel16 : TensorLayout::row_major, static_cast<uint64_t>(view.rows),
                static_cast<uint64_t>(view.cols), &storage)) {
    return b;
  }
  b.scales = reinterpret_cast<const float*>(tensor(view) + storage.scales);
  b.sums = reinterpret_cast<const int32_t*>(tensor(view) + storage.sums);
  b.sums_ld = round_up(view.rows, panel_width);
  return b;
}

const float* CpuExecutor::scales(const View& view) const { return right(view, view.cols, view.rows).scales; }

// out[j] += (E 1)[j] b: the part of E (Z W + 1 b^T) that (E Z) W lacks.
void CpuExecutor::add_row_sums(const Op& op, const Item& item) const {
  const int64_t n = source_of(attention_of(item)).length(item.sequence);
  const MutableMatrix out = matrix(op.out, item);
  const float* bias = floats(op.bias);
  const std::byte* row = tensor(op.a) + item.row * op.a.ld * element_bytes(op.a.type);
  for (int64_t j = 0; j < item.rows; ++j, row += op.a.ld * element_bytes(op.a.type)) {
    constexpr int lanes = 8;  // a fixed order of summation
    constexpr int64_t chunk = 32 * lanes;
    float sums[lanes] = {}, wide[chunk];
    for (int64_t t = 0; t < n; t += chunk) {
      const int64_t count = std::min(chunk, n - t);
      kernels_.widen(op.a.type, row + t * element_bytes(op.a.type), wide, count);
      for (int64_t i = 0; i < count; ++i) sums[i % lanes] += wide[i];
    }
    const float sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    for (int64_t i = 0; i < out.cols; ++i) out.row(j)[i] += sum * bias[i];
  }
}

}  // namespace LINFORMER_NAMESPACE
