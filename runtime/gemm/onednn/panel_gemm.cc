#include "gemm/onednn/panel_gemm.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "gemm/onednn/panel_scratch.h"
#include "gemm/sgemm.h"

namespace LINFORMER_NAMESPACE::onednn {
namespace {

constexpr int64_t smallest_step = 4;

}  // namespace

// The arguments of the steps that compute a chunk of columns.
struct PanelGemm::Call {
  dnnl_engine_t engine;
  const Kernels& kernels;
  const Chunk& chunk;
  ConstMatrix a;
  MutableMatrix c;
  Epilogue epilogue;
  bool residual_is_c;
  const float* right;  // The panels of the chunk in f32.
  float* a_rows;       // Scratch for rows of A: [padded_rows, k].
  float* tile;         // Scratch for sums: [rows of a step, chunk.width].
  void* scratchpad;

  // Applies the epilogue to the sums of C's rows [row, row + sums.rows), except for the bias, which the primitive has
  // added.
  void finish(int64_t row, const MutableMatrix& sums, const ConstMatrix& residual) const {
    if (epilogue.row_bias == nullptr && epilogue.activation == Activation::none && residual.data == nullptr) return;
    Epilogue rest;
    if (epilogue.row_bias != nullptr) rest.row_bias = epilogue.row_bias + row;
    rest.activation = epilogue.activation;
    rest.residual = residual;
    apply_epilogue(kernels, rest, sums);
  }

  ConstMatrix residual(int64_t row, int64_t rows) const {
    return epilogue.residual.data == nullptr ? ConstMatrix{} : epilogue.residual.part(row, 0, rows, c.cols);
  }

  // Finishes the first `rows` rows of the tile and copies them to C from `row` on, or adds them to C.
  void finish_and_copy_tile(int64_t row, int64_t rows) const {
    const MutableMatrix sums{tile, rows, c.cols, c.cols};
    if (!epilogue.accumulate) finish(row, sums, residual(row, rows));
    for (int64_t i = 0; i < rows; ++i) {
      if (epilogue.accumulate) {
        kernels.add(c.row(row + i), sums.row(i), c.cols);
      } else {
        std::memcpy(c.row(row + i), sums.row(i), static_cast<size_t>(c.cols) * sizeof(float));
      }
    }
  }
};

Status PanelGemm::build(dnnl_engine_t engine, const GemmDesc& desc) {
  desc_ = desc;
  for (int64_t rows = smallest_step; rows < desc.max_m; rows *= 2) step_rows_[steps_++] = rows;
  step_rows_[steps_++] = desc.max_m;
  chunk_width_ = chunk_columns(desc);
  in_tiles_ = needs_sum_tile(desc);
  whole_.reset(new (std::nothrow) Chunk);
  if (!whole_) return Status::error(Code::out_of_memory, "no memory for a oneDNN product");
  LINFORMER_TRY(build_chunk(engine, chunk_width_, whole_.get()));
  const int64_t rest = desc.n % chunk_width_;
  if (rest == 0) return {};
  rest_.reset(new (std::nothrow) Chunk);
  if (!rest_) return Status::error(Code::out_of_memory, "no memory for a oneDNN product");
  return build_chunk(engine, rest, rest_.get());
}

Status PanelGemm::build_chunk(dnnl_engine_t engine, int64_t width, Chunk* chunk) {
  chunk->width = width;
  const bool may_add = !in_tiles_ && (desc_.accumulate || (desc_.residual && desc_.activation == Activation::none));
  for (int i = 0; i < steps_; ++i) {
    Matmul::Shape shape{step_rows_[i], width, desc_.k, false, desc_.bias};
    if (!desc_.accumulate || in_tiles_ || step_rows_[i] <= padded_rows) {
      LINFORMER_TRY(chunk->overwrite[i].build(engine, shape));
    }
    shape.adds_to_c = true;
    if (may_add) LINFORMER_TRY(chunk->add[i].build(engine, shape));
    scratchpad_bytes_ =
        std::max({scratchpad_bytes_, chunk->overwrite[i].scratchpad_bytes(), chunk->add[i].scratchpad_bytes()});
  }
  return {};
}

uint64_t PanelGemm::scratch_bytes() const { return panel_scratch_bytes(desc_) + scratchpad_bytes_; }

Status PanelGemm::run(dnnl_engine_t engine, const Kernels& kernels, const GemmArgs& args, void* scratch) const {
  const PanelScratch parts = panel_scratch(desc_);
  float* a_rows = static_cast<float*>(scratch);
  float* tile = a_rows + parts.a_rows.elements();
  float* widened = tile + parts.tile.elements();
  void* scratchpad = widened + parts.widened.elements();
  const bool is_wide = desc_.type == ElementType::f32;
  // The primitives take dense rows only, and they can't apply an activation before they add C.
  const Epilogue& epilogue = args.epilogue;
  const bool onto_c = residual_is_c(args);
  const bool takes_a = args.a.ld == desc_.k;
  const bool takes_c = in_tiles_ || (args.c.ld == desc_.n && !(onto_c && epilogue.activation != Activation::none));
  const int64_t m = args.c.rows;
  for (int64_t column = 0; column < desc_.n; column += chunk_width_) {
    const Chunk& chunk = desc_.n - column >= chunk_width_ ? *whole_ : *rest_;
    const int64_t panel = column / panel_width, rows_of_panel = round_up(desc_.k, panel_width);
    const int64_t panels = ceil_div(chunk.width, panel_width);
    for (int64_t p = 0; !is_wide && p < panels; ++p) {
      kernels.widen_panel(args.b, panel + p, 0, rows_of_panel, widened + p * rows_of_panel * panel_width);
    }
    const float* right =
        is_wide ? static_cast<const float*>(args.b.data) + panel * rows_of_panel * panel_width : widened;
    Epilogue part = epilogue;
    if (part.bias != nullptr) part.bias += column;
    if (part.residual.data != nullptr) part.residual = part.residual.part(0, column, m, chunk.width);
    const Call call{engine,    kernels, chunk, args.a.floats(), args.c.floats().part(0, column, m, chunk.width),
                    part,      onto_c,  right, a_rows,          tile,
                    scratchpad};
    int64_t row = 0;
    for (int step = steps_ - 1; step >= 0 && takes_a && takes_c; --step) {
      const int64_t rows = step_rows_[step];
      // One padded step is faster than several small ones.
      for (; m - row >= rows && (rows >= padded_rows || m - row == rows); row += rows) {
        LINFORMER_TRY(in_tiles_ ? run_tile(call, step, row) : run_in_place(call, step, row));
      }
    }
    for (; row < m; row += padded_rows) LINFORMER_TRY(run_padded(call, row, std::min(padded_rows, m - row)));
  }
  return {};
}

// Computes one step of rows. Rows of A and of C follow each other without gaps, so oneDNN writes the sums directly to
// C.
Status PanelGemm::run_in_place(const Call& call, int step, int64_t row) const {
  const Epilogue& epilogue = call.epilogue;
  const bool adds = epilogue.accumulate || (epilogue.residual.data != nullptr && call.residual_is_c);
  const Matmul& matmul = adds ? call.chunk.add[step] : call.chunk.overwrite[step];
  const int64_t rows = step_rows_[step];
  const MutableMatrix c = call.c.part(row, 0, rows, call.c.cols);
  LINFORMER_TRY(matmul.run(call.engine, call.a.row(row), call.right, epilogue.bias, c.data, call.scratchpad));
  if (!epilogue.accumulate) call.finish(row, c, adds ? ConstMatrix{} : call.residual(row, rows));
  return {};
}

// Runs a step of dense rows that writes its sums to the tile.
Status PanelGemm::run_tile(const Call& call, int step, int64_t row) const {
  LINFORMER_TRY(call.chunk.overwrite[step].run(call.engine, call.a.row(row), call.right, call.epilogue.bias, call.tile,
                                               call.scratchpad));
  call.finish_and_copy_tile(row, step_rows_[step]);
  return {};
}

// Computes rows [row, row + rows), where rows <= padded_rows. They are copied from A to scratch, and rows of zeros are
// added up to the smallest step that is large enough.
Status PanelGemm::run_padded(const Call& call, int64_t row, int64_t rows) const {
  int step = 0;
  while (step_rows_[step] < rows) ++step;
  const int64_t k = desc_.k;
  for (int64_t i = 0; i < rows; ++i) std::copy_n(call.a.row(row + i), k, call.a_rows + i * k);
  std::fill(call.a_rows + rows * k, call.a_rows + step_rows_[step] * k, 0.f);
  LINFORMER_TRY(call.chunk.overwrite[step].run(call.engine, call.a_rows, call.right, call.epilogue.bias, call.tile,
                                               call.scratchpad));
  call.finish_and_copy_tile(row, rows);
  return {};
}

}  // namespace LINFORMER_NAMESPACE::onednn
