// Ops on blocks of rows: embedding, norms, copies.
#include <algorithm>

#include "cpu/executor.h"

namespace LINFORMER_NAMESPACE {

void CpuExecutor::gather(const Op& op, const Item& item) const {
  const MutableMatrix out = matrix(op.out, item);
  const std::byte* table = tensor(op.a);
  const float* steps = scales(op.a);
  const int64_t row_bytes = op.a.ld * element_bytes(op.a.type);
  for (int64_t r = 0; r < out.rows; ++r) {
    float* row = out.row(r);
    const int32_t token = batch_.ids[item.row + r];
    // Tokens lie anywhere in memory: the next one is on its way while this one is widened.
    if (r + 1 < out.rows) {
      const std::byte* next = table + batch_.ids[item.row + r + 1] * row_bytes;
      for (int64_t byte = 0; byte < row_bytes; byte += 64) __builtin_prefetch(next + byte);
    }
    kernels_.widen(op.a.type, table + token * row_bytes, row, out.cols);
    if (steps != nullptr) kernels_.scale_rows({row, 1, out.cols, out.cols}, steps + token);
    for (int64_t i = 0; op.scale != 1.f && i < out.cols; ++i) row[i] *= op.scale;
  }
}

// out[r] += a[indices[r]], a of any type.
template <class Index>
void CpuExecutor::add_weight_rows(const Op& op, const Item& item, const Index* indices) const {
  const MutableMatrix out = matrix(op.out, item);
  const int64_t row_bytes = op.a.ld * element_bytes(op.a.type);
  const std::byte* table =
      op.a.place == Place::weight ? tensor(op.a) : reinterpret_cast<const std::byte*>(buffer(op.a.buffer));
  const float* steps = op.a.place == Place::weight ? scales(op.a) : nullptr;
  constexpr int64_t chunk = 256;
  float wide[chunk];
  for (int64_t r = 0; r < out.rows; ++r) {
    const std::byte* row = table + indices[item.row + r] * row_bytes;
    if (op.a.type == ElementType::f32) {
      kernels_.add(out.row(r), reinterpret_cast<const float*>(row), out.cols);
      continue;
    }
    for (int64_t i = 0; i < out.cols; i += chunk) {
      const int64_t count = std::min(chunk, out.cols - i);
      kernels_.widen(op.a.type, row + i * element_bytes(op.a.type), wide, count);
      if (steps != nullptr) kernels_.scale_rows({wide, 1, count, count}, steps + indices[item.row + r]);
      kernels_.add(out.row(r) + i, wide, count);
    }
  }
}

void CpuExecutor::add_position(const Op& op, const Item& item) const { add_weight_rows(op, item, batch_.positions); }
void CpuExecutor::add_type(const Op& op, const Item& item) const { add_weight_rows(op, item, batch_.types); }

void CpuExecutor::read_vectors(const Op& op, const Item& item) const {
  const MutableMatrix out = matrix(op.out, item);
  int64_t sequence = batch_.sequence_of(item.row);
  for (int64_t r = 0; r < out.rows; ++r) {
    while (item.row + r >= batch_.row_starts[sequence + 1]) ++sequence;
    const int32_t vector = batch_.ids[item.row + r];
    if (vector < 0) {
      std::fill_n(out.row(r), out.cols, 0.f);
    } else {
      std::copy_n(batch_.vectors(batch_.inputs, sequence) + vector * out.cols, out.cols, out.row(r));
    }
  }
}

void CpuExecutor::put_prefix(const Op& op, const Item& item) const {
  const MutableMatrix out = matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    if (batch_.ids[item.row + r] < 0) std::copy_n(floats(op.a), out.cols, out.row(r));
  }
}

void CpuExecutor::zero(const Op& op, const Item& item) const {
  const MutableMatrix out = matrix(op.out, item);
  const bool of_source = item.stage.domain == Domain::source_rows;
  const uint8_t* masks = batch_.masks + item.row;
  if (of_source) {
    const Source source = source_of(attention_of(item));
    masks = source.masks + source.starts[item.sequence] + item.row;
  }
  if (op.which == ZeroRows::masked && !batch_.has_masks) return;
  const auto is_masked = [&](int64_t r) {
    const bool first_only = item.stage.domain == Domain::first_rows;
    return (masks[first_only ? batch_.row_starts[item.row + r] - item.row : r] & mask_row) != 0;
  };
  for (int64_t r = 0; r < out.rows; ++r) {
    const bool zeroed = op.which == ZeroRows::all ||
                        (op.which == ZeroRows::pads ? batch_.ids[item.row + r] == program_.pad_id : is_masked(r));
    if (zeroed) std::fill_n(out.row(r), out.cols, 0.f);
  }
}

void CpuExecutor::copy(const Op& op, const Item& item) const {
  const MutableMatrix from = matrix(op.a, item), to = matrix(op.out, item);
  for (int64_t r = 0; r < to.rows; ++r) std::copy_n(from.row(r), to.cols, to.row(r));
}

void CpuExecutor::convert(const Op& op, const Item& item) const {
  const MutableMatrix from = matrix(op.a, item);
  char* to = reinterpret_cast<char*>(address(op.out, item));
  if (op.out.type == ElementType::bf16) {
    return kernels_.round_rows(from, {reinterpret_cast<uint16_t*>(to), from.rows, from.cols, op.out.ld});
  }
  RowScale* scales = reinterpret_cast<RowScale*>(to + narrow_codes_bytes(from.cols));
  kernels_.quantize_rows(
      from, {reinterpret_cast<uint8_t*>(to), op.out.ld, scales, op.out.ld / static_cast<int64_t>(sizeof(RowScale))});
}

void CpuExecutor::add(const Op& op, const Item& item) const {
  const MutableMatrix from = matrix(op.a, item), to = matrix(op.out, item);
  for (int64_t r = 0; r < to.rows; ++r) kernels_.add(to.row(r), from.row(r), to.cols);
}

void CpuExecutor::norm(const Op& op, const Item& item) const {
  MutableMatrix in = matrix(op.a, item), out = matrix(op.out, item);
  in.cols = out.cols = op.b.cols;
  kernels_.layer_norm_rows(in, {floats(op.b), floats(op.bias), op.epsilon}, out);
}

void CpuExecutor::activate(const Op& op, const Item& item) const {
  kernels_.activate(op.activation, matrix(op.out, item));
}

// Rows of `a` become rows of half the width, closer together in the same memory: each is read before its place is
// written.
void CpuExecutor::gate(const Op& op, const Item& item) const {
  const MutableMatrix in = matrix(op.a, item), out = matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    const MutableMatrix row = in.part(r, 0, 1, out.cols);
    kernels_.activate(op.activation, row);
    kernels_.multiply(row.data, row.data + out.cols, out.cols);
    std::copy_n(row.data, out.cols, out.row(r));
  }
}

// Pairs (x1, x2), of the first and second half of each head, are turned by their position's angles:
// (x1 cos - x2 sin, x2 cos + x1 sin). Su et al. 2021; the pairing is GPT-NeoX's and xformers'.
void CpuExecutor::rotate(const Op& op, const Item& item) const {
  const MutableMatrix out = matrix(op.out, item);
  const int64_t d_head = op.b.cols, half = d_head / 2;
  const bool packed = item.stage.domain == Domain::row_blocks;
  int64_t sequence = packed ? batch_.sequence_of(item.row) : item.sequence;
  for (int64_t r = 0; r < out.rows; ++r) {
    while (packed && item.row + r >= batch_.row_starts[sequence + 1]) ++sequence;
    const int64_t position = item.row + r - (packed ? batch_.row_starts[sequence] : 0);
    const float* cosines = address(op.b, item) + position * op.b.ld;
    const float* sines = cosines + half;
    for (float* x = out.row(r); x < out.row(r) + out.cols; x += d_head) {
      for (int64_t i = 0; i < half; ++i) {
        const float first = x[i], second = x[half + i];
        x[i] = first * cosines[i] - second * sines[i];
        x[half + i] = second * cosines[i] + first * sines[i];
      }
    }
  }
}

}  // namespace LINFORMER_NAMESPACE
