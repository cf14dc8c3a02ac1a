#include "backends/onednn/panel_product.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "backends/plain_gemm.h"
#include "base/checked.h"

namespace linformer::onednn {
namespace {

constexpr int64_t smallest_step = 4;
// Rows that go by way of scratch together; a step.
constexpr int64_t padded_rows = 16;
// oneDNN doesn't multiply f32 by 16-bit weights: they are widened a chunk of columns at a time, which should stay in
// L2. f32 weights are multiplied whole: to copy a chunk first costs more than a nearer or wider layout gives back.
constexpr int64_t widened_elements = 256 * 1024;

int64_t chunk_columns(const ProductShape& shape) {
  if (shape.type == ElementType::f32) return shape.n;
  const int64_t fitting = widened_elements / round_up(shape.k, panel_width) / panel_width * panel_width;
  return std::min(shape.n, std::max<int64_t>(fitting, 4 * panel_width));
}

}  // namespace

struct PanelProduct::Call {
  dnnl_engine_t engine;
  const Kernels& kernels;
  const Product& product;
  const Chunk& chunk;
  int64_t column;      // the chunk's first
  const float* right;  // its panels in f32
  float* a_rows;       // scratch: [scratch_rows(), k]
  float* tile;         // scratch of sums: [rows of a step, chunk.width]
  void* scratchpad;

  const float* bias() const { return product.epilogue.bias == nullptr ? nullptr : product.epilogue.bias + column; }
  const float* residual(int64_t row) const {
    const Epilogue& epilogue = product.epilogue;
    return epilogue.residual == nullptr ? nullptr : epilogue.residual + row * epilogue.residual_stride + column;
  }
};

Status PanelProduct::build(dnnl_engine_t engine, const ProductShape& shape) {
  shape_ = shape;
  for (int64_t rows = smallest_step; rows < shape.max_m; rows *= 2) step_rows_[steps_++] = rows;
  step_rows_[steps_++] = shape.max_m;
  chunk_width_ = chunk_columns(shape);
  whole_.reset(new (std::nothrow) Chunk);
  if (!whole_) return Status::error(Code::out_of_memory, "no memory for a oneDNN product");
  LINFORMER_TRY(build_chunk(engine, chunk_width_, whole_.get()));
  const int64_t rest = shape.n % chunk_width_;
  if (rest == 0) return {};
  rest_.reset(new (std::nothrow) Chunk);
  if (!rest_) return Status::error(Code::out_of_memory, "no memory for a oneDNN product");
  return build_chunk(engine, rest, rest_.get());
}

Status PanelProduct::build_chunk(dnnl_engine_t engine, int64_t width, Chunk* chunk) {
  chunk->width = width;
  const bool may_add = !in_tiles() && (shape_.accumulate || (shape_.residual && shape_.activation == Activation::none));
  for (int i = 0; i < steps_; ++i) {
    Matmul::Shape shape{step_rows_[i], width, shape_.k, false, shape_.bias};
    if (!shape_.accumulate || in_tiles() || step_rows_[i] <= padded_rows) {
      LINFORMER_TRY(chunk->overwrite[i].build(engine, shape));
    }
    shape.adds_to_c = true;
    if (may_add) LINFORMER_TRY(chunk->add[i].build(engine, shape));
    scratchpad_bytes_ =
        std::max({scratchpad_bytes_, chunk->overwrite[i].scratchpad_bytes(), chunk->add[i].scratchpad_bytes()});
  }
  return {};
}

int64_t PanelProduct::scratch_rows() const { return std::min(padded_rows, shape_.max_m); }

int64_t PanelProduct::tile_elements() const {
  return (in_tiles() ? shape_.max_m : scratch_rows()) * round_up(chunk_width_, panel_width);
}

uint64_t PanelProduct::scratch_bytes() const {
  int64_t elements = scratch_rows() * round_up(shape_.k, panel_width) + tile_elements();
  if (shape_.type != ElementType::f32) elements += panel_elements(shape_.k, chunk_width_);
  return static_cast<uint64_t>(elements) * sizeof(float) + scratchpad_bytes_;
}

Status PanelProduct::run(dnnl_engine_t engine, const Kernels& kernels, const Product& product, void* scratch) const {
  float* a_rows = static_cast<float*>(scratch);
  float* tile = a_rows + scratch_rows() * round_up(shape_.k, panel_width);
  float* widened = tile + tile_elements();
  const bool is_wide = shape_.type == ElementType::f32;
  void* scratchpad = widened + (is_wide ? 0 : panel_elements(shape_.k, chunk_width_));
  // The primitives know dense rows only, and neither alpha nor an activation between C and C.
  const Epilogue& epilogue = product.epilogue;
  const bool takes_a = product.a_stride == shape_.k && epilogue.alpha == 1.f;
  const bool takes_c = in_tiles() || (product.c_stride == shape_.n &&
                                      !(residual_is_c(product) && epilogue.activation != Activation::none));
  for (int64_t column = 0; column < shape_.n; column += chunk_width_) {
    const Chunk& chunk = shape_.n - column >= chunk_width_ ? *whole_ : *rest_;
    const char* b = static_cast<const char*>(product.b) + panel_elements(shape_.k, column) * element_bytes(shape_.type);
    if (!is_wide) kernels.widen(shape_.type, b, widened, panel_elements(shape_.k, chunk.width));
    const float* right = is_wide ? reinterpret_cast<const float*>(b) : widened;
    const Call call{engine, kernels, product, chunk, column, right, a_rows, tile, scratchpad};
    int64_t row = 0;
    for (int step = steps_ - 1; step >= 0 && takes_a && takes_c; --step) {
      const int64_t rows = step_rows_[step];
      // One padded step is faster than several small ones.
      for (; product.m - row >= rows && (rows >= padded_rows || product.m - row == rows); row += rows) {
        LINFORMER_TRY(in_tiles() ? run_tile(call, step, row) : run_in_place(call, step, row));
      }
    }
    for (; row < product.m; row += padded_rows) {
      LINFORMER_TRY(run_padded(call, row, std::min(padded_rows, product.m - row)));
    }
  }
  return {};
}

// A step of dense rows, its sums straight to C.
Status PanelProduct::run_in_place(const Call& call, int step, int64_t row) const {
  const Product& p = call.product;
  const bool adds = p.epilogue.accumulate || (p.epilogue.residual != nullptr && residual_is_c(p));
  const Matmul& matmul = adds ? call.chunk.add[step] : call.chunk.overwrite[step];
  float* c = p.c + row * p.c_stride;
  LINFORMER_TRY(matmul.run(call.engine, p.a + row * p.a_stride, call.right, call.bias(), c, call.scratchpad));
  if (!p.epilogue.accumulate) finish(call, row, step_rows_[step], c, p.c_stride, adds ? nullptr : call.residual(row));
  return {};
}

// The same by way of the tile.
Status PanelProduct::run_tile(const Call& call, int step, int64_t row) const {
  const float* a = call.product.a + row * call.product.a_stride;
  LINFORMER_TRY(call.chunk.overwrite[step].run(call.engine, a, call.right, call.bias(), call.tile, call.scratchpad));
  deliver(call, row, step_rows_[step]);
  return {};
}

// Rows [row, row + rows), rows <= padded_rows, copied from A and filled up with zeros to the next step.
Status PanelProduct::run_padded(const Call& call, int64_t row, int64_t rows) const {
  const Product& p = call.product;
  int step = 0;
  while (step_rows_[step] < rows) ++step;
  std::fill(call.a_rows + rows * shape_.k, call.a_rows + step_rows_[step] * shape_.k, 0.f);
  for (int64_t i = 0; i < rows; ++i) {
    const float* a = p.a + (row + i) * p.a_stride;
    for (int64_t j = 0; j < shape_.k; ++j) call.a_rows[i * shape_.k + j] = p.epilogue.alpha * a[j];
  }
  LINFORMER_TRY(
      call.chunk.overwrite[step].run(call.engine, call.a_rows, call.right, call.bias(), call.tile, call.scratchpad));
  deliver(call, row, rows);
  return {};
}

// What the primitive left of the epilogue of C's rows [row, row + rows), whose sums are in `c`: all but alpha and
// the bias.
void PanelProduct::finish(const Call& call, int64_t row, int64_t rows, float* c, int64_t c_stride,
                          const float* residual) {
  const Epilogue& asked = call.product.epilogue;
  if (asked.row_bias == nullptr && asked.activation == Activation::none && residual == nullptr) return;
  Product p = call.product;
  p.c = c;
  p.c_stride = c_stride;
  p.epilogue.bias = nullptr;
  if (asked.row_bias != nullptr) p.epilogue.row_bias = asked.row_bias + row;
  finish_rows(call.kernels, p, 0, rows, 0, call.chunk.width, residual);
}

// The tile's first `rows` rows to C's rows from `row` on.
void PanelProduct::deliver(const Call& call, int64_t row, int64_t rows) {
  const Product& p = call.product;
  const int64_t width = call.chunk.width;
  if (!p.epilogue.accumulate) finish(call, row, rows, call.tile, width, call.residual(row));
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = call.tile + i * width;
    float* to = p.c + (row + i) * p.c_stride + call.column;
    if (p.epilogue.accumulate) {
      call.kernels.add(to, from, width);
    } else {
      std::memcpy(to, from, static_cast<size_t>(width) * sizeof(float));
    }
  }
}

}  // namespace linformer::onednn
