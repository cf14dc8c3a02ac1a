#include "backends/onednn/panel_product.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "backends/plain_gemm.h"
#include "base/checked.h"

namespace linformer::onednn {
namespace {

constexpr int64_t smallest_step = 16;
// oneDNN doesn't multiply f32 by 16-bit weights: they are widened a chunk of columns at a time, which should
// stay in L2.
constexpr int64_t widened_elements = 256 * 1024;

int64_t widened_columns(const ProductShape& shape) {
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
  float* a_rows;       // scratch of the smallest step: [rows, k]
  float* c_rows;       // and [rows, n]
  void* scratchpad;
};

Status PanelProduct::build(dnnl_engine_t engine, const ProductShape& shape) {
  shape_ = shape;
  for (int64_t rows = smallest_step; rows < shape.max_m; rows *= 2) step_rows_[steps_++] = rows;
  step_rows_[steps_++] = shape.max_m;
  chunk_width_ = shape.type == ElementType::f32 ? shape.n : widened_columns(shape);
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
  const bool may_add = shape_.accumulate || (shape_.residual && shape_.activation == Activation::none);
  for (int i = 0; i < steps_; ++i) {
    Matmul::Shape shape{step_rows_[i], width, shape_.k, shape_.k, shape_.n, false};
    if (!shape_.accumulate || i == 0) LINFORMER_TRY(chunk->overwrite[i].build(engine, shape));
    shape.adds_to_c = true;
    if (may_add) LINFORMER_TRY(chunk->add[i].build(engine, shape));
    scratchpad_bytes_ =
        std::max({scratchpad_bytes_, chunk->overwrite[i].scratchpad_bytes(), chunk->add[i].scratchpad_bytes()});
  }
  return {};
}

uint64_t PanelProduct::scratch_bytes() const {
  int64_t elements = step_rows_[0] * (round_up(shape_.k, 16) + round_up(shape_.n, 16));
  if (shape_.type != ElementType::f32) elements += panel_elements(shape_.k, chunk_width_);
  return static_cast<uint64_t>(elements) * sizeof(float) + scratchpad_bytes_;
}

Status PanelProduct::run(dnnl_engine_t engine, const Kernels& kernels, const Product& product, void* scratch) const {
  float* a_rows = static_cast<float*>(scratch);
  float* c_rows = a_rows + step_rows_[0] * round_up(shape_.k, 16);
  float* widened = c_rows + step_rows_[0] * round_up(shape_.n, 16);
  const bool is_wide = shape_.type == ElementType::f32;
  void* scratchpad = widened + (is_wide ? 0 : panel_elements(shape_.k, chunk_width_));
  // The primitives know dense rows only, and neither alpha nor an activation between C and C.
  const Epilogue& epilogue = product.epilogue;
  const bool direct = product.a_stride == shape_.k && product.c_stride == shape_.n && epilogue.alpha == 1.f &&
                      !(residual_is_c(product) && epilogue.activation != Activation::none);
  for (int64_t column = 0; column < shape_.n; column += chunk_width_) {
    const Chunk& chunk = shape_.n - column >= chunk_width_ ? *whole_ : *rest_;
    const char* b = static_cast<const char*>(product.b) + panel_elements(shape_.k, column) * element_bytes(shape_.type);
    if (!is_wide) kernels.widen(shape_.type, b, widened, panel_elements(shape_.k, chunk.width));
    const float* right = is_wide ? reinterpret_cast<const float*>(b) : widened;
    const Call call{engine, kernels, product, chunk, column, right, a_rows, c_rows, scratchpad};
    int64_t row = 0;
    for (int step = steps_ - 1; step >= 0; --step) {
      for (; direct && product.m - row >= step_rows_[step]; row += step_rows_[step]) {
        LINFORMER_TRY(run_step(call, step, row));
      }
    }
    for (; row < product.m; row += step_rows_[0]) {
      LINFORMER_TRY(run_padded(call, row, std::min(step_rows_[0], product.m - row)));
    }
  }
  return {};
}

Status PanelProduct::run_step(const Call& call, int step, int64_t row) const {
  const Product& p = call.product;
  const bool adds = p.epilogue.accumulate || (p.epilogue.residual != nullptr && residual_is_c(p));
  const Matmul& matmul = adds ? call.chunk.add[step] : call.chunk.overwrite[step];
  LINFORMER_TRY(matmul.run(call.engine, p.a + row * p.a_stride, call.right, p.c + row * p.c_stride + call.column,
                           call.scratchpad));
  if (p.epilogue.accumulate) return {};
  const float* residual = p.epilogue.residual == nullptr || adds
                              ? nullptr
                              : p.epilogue.residual + row * p.epilogue.residual_stride + call.column;
  finish_rows(call.kernels, p, row, step_rows_[step], call.column, call.chunk.width, residual);
  return {};
}

// Rows [row, row + rows), rows <= the smallest step, by way of scratch.
Status PanelProduct::run_padded(const Call& call, int64_t row, int64_t rows) const {
  const Product& p = call.product;
  std::fill(call.a_rows, call.a_rows + step_rows_[0] * shape_.k, 0.f);
  for (int64_t i = 0; i < rows; ++i) {
    const float* a = p.a + (row + i) * p.a_stride;
    for (int64_t j = 0; j < shape_.k; ++j) call.a_rows[i * shape_.k + j] = p.epilogue.alpha * a[j];
  }
  LINFORMER_TRY(
      call.chunk.overwrite[0].run(call.engine, call.a_rows, call.right, call.c_rows + call.column, call.scratchpad));
  Product rest = p;
  rest.c = call.c_rows;
  rest.c_stride = shape_.n;
  if (rest.epilogue.row_bias != nullptr) rest.epilogue.row_bias += row;
  const float* residual =
      p.epilogue.residual == nullptr ? nullptr : p.epilogue.residual + row * p.epilogue.residual_stride + call.column;
  if (!p.epilogue.accumulate) {
    finish_rows(call.kernels, rest, 0, rows, call.column, call.chunk.width, residual);
  }
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = call.c_rows + i * shape_.n + call.column;
    float* to = p.c + (row + i) * p.c_stride + call.column;
    if (p.epilogue.accumulate) {
      call.kernels.add(to, from, call.chunk.width);
    } else {
      std::memcpy(to, from, static_cast<size_t>(call.chunk.width) * sizeof(float));
    }
  }
  return {};
}

}  // namespace linformer::onednn
