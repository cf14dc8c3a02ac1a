#include "gemm/sgemm.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The columns that are unpacked at a time, which take 3 MB at K = 3072. sgemm reads A once for each chunk.
constexpr int64_t chunk_width = 256;

// The columns of a low-precision A that are widened at a time.
constexpr int64_t left_block = 1024;

bool is_unpacked(const GemmDesc& desc) { return desc.layout == RightLayout::panel16 || desc.type != ElementType::f32; }

// Returns whether scratch has room for a tile. If the residual is C itself and follows an activation, its values go to
// the tile first, because the sums overwrite C.
bool needs_tile(const GemmDesc& desc) { return desc.residual && desc.activation != Activation::none; }

// Unpacks columns [n0, n0 + n) of panel16 weights to f32 rows of n elements. n0 must be a multiple of the panel width.
void unpack_panels(const Kernels& kernels, const RightMatrix& b, int64_t n0, int64_t n, float* dst) {
  constexpr int64_t block_rows = 64;
  alignas(64) float block[block_rows * panel_width];  // widen_panel() needs a multiple of 4 rows.
  for (int64_t col = 0; col < n; col += panel_width) {
    const size_t row_bytes = static_cast<size_t>(std::min(panel_width, n - col)) * sizeof(float);
    for (int64_t k0 = 0; k0 < b.k; k0 += block_rows) {
      const int64_t rows = std::min(block_rows, b.k - k0);
      kernels.widen_panel(b, (n0 + col) / panel_width, k0, rows, block);
      for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(dst + (k0 + i) * n + col, block + i * panel_width, row_bytes);
      }
    }
  }
}

// Returns columns [n0, n0 + n) of B in a form that sgemm reads. If they must be unpacked, they lie in `right`.
ConstMatrix right_columns(const Kernels& kernels, const RightMatrix& b, int64_t n0, int64_t n, float* right) {
  if (b.layout == RightLayout::panel16) {
    unpack_panels(kernels, b, n0, n, right);
    return {right, b.k, n, n};
  }
  const bool transposed = b.layout == RightLayout::transposed;
  const int64_t bytes = element_bytes(b.type);
  const char* from = static_cast<const char*>(b.data) + n0 * (transposed ? b.ld : 1) * bytes;
  if (b.type == ElementType::f32) {
    return {reinterpret_cast<const float*>(from), transposed ? n : b.k, transposed ? b.k : n, b.ld};
  }
  for (int64_t j = 0; j < n; ++j) {
    kernels.widen(b.type, from + j * b.ld * bytes, right + j * b.k, b.k);
    if (b.type == ElementType::int8) kernels.scale_rows({right + j * b.k, 1, b.k, b.k}, b.scales + n0 + j);
  }
  return {right, n, b.k, b.k};
}

// Computes C = A B, or C += A B if `adds_to_c`, with A in 16 bits. A is widened into `left`, a block of columns at a
// time.
Status multiply_narrow(Sgemm sgemm, const Kernels& kernels, const LeftMatrix& a, bool transposed, const ConstMatrix& b,
                       bool adds_to_c, float* left, const MutableMatrix& c) {
  const int64_t bytes = element_bytes(a.type), step = std::min(a.cols, left_block);
  for (int64_t k0 = 0; k0 < a.cols; k0 += left_block) {
    const int64_t k = std::min(left_block, a.cols - k0);
    for (int64_t i = 0; i < a.rows; ++i) {
      kernels.widen(a.type, static_cast<const char*>(a.data) + (i * a.ld + k0) * bytes, left + i * step, k);
    }
    const ConstMatrix part = transposed ? b.part(0, k0, b.rows, k) : b.part(k0, 0, k, b.cols);
    LINFORMER_TRY(sgemm({left, a.rows, k, step}, transposed, part, adds_to_c || k0 > 0 ? 1.f : 0.f, c));
  }
  return {};
}

}  // namespace

bool residual_is_c(const GemmArgs& args) {
  return static_cast<const void*>(args.epilogue.residual.data) == args.c.data && args.epilogue.residual.ld == args.c.ld;
}

uint64_t sgemm_scratch_bytes(const GemmDesc& desc) {
  const uint64_t width = static_cast<uint64_t>(std::min(chunk_width, desc.n));
  CheckedSize bytes;
  if (is_unpacked(desc)) bytes.add_product(static_cast<uint64_t>(desc.k), width, sizeof(float));
  if (needs_tile(desc)) bytes.add_product(static_cast<uint64_t>(desc.max_m), width, sizeof(float));
  if (desc.left != ElementType::f32) {
    bytes.add_product(static_cast<uint64_t>(desc.max_m), static_cast<uint64_t>(std::min(desc.k, left_block)),
                      sizeof(float));
  }
  return bytes.saturated();
}

void apply_epilogue(const Kernels& kernels, const Epilogue& epilogue, const MutableMatrix& c) {
  for (int64_t i = 0; i < c.rows; ++i) {
    float* row = c.row(i);
    if (epilogue.row_bias != nullptr) {
      const float row_bias = epilogue.row_bias[i];
      for (int64_t j = 0; j < c.cols; ++j) row[j] += row_bias;
    }
    if (epilogue.bias != nullptr) kernels.add(row, epilogue.bias, c.cols);
    kernels.activate(epilogue.activation, c.part(i, 0, 1, c.cols));
    if (epilogue.residual.data != nullptr) kernels.add(row, epilogue.residual.row(i), c.cols);
  }
}

Status gemm_by_sgemm(Sgemm sgemm, const Kernels& kernels, const GemmDesc& desc, const GemmArgs& args, void* scratch) {
  const Epilogue& asked = args.epilogue;
  const bool in_tile = needs_tile(desc) && residual_is_c(args);
  const bool adds_to_c = asked.accumulate || (asked.residual.data != nullptr && residual_is_c(args) && !in_tile);
  const bool whole = !is_unpacked(desc) && !in_tile;
  float* right = static_cast<float*>(scratch);
  float* tile = right + (is_unpacked(desc) ? desc.k * std::min(chunk_width, desc.n) : 0);
  float* left = tile + (needs_tile(desc) ? desc.max_m * std::min(chunk_width, desc.n) : 0);
  const int64_t m = args.c.rows, step = whole ? std::max<int64_t>(args.c.cols, 1) : chunk_width;
  for (int64_t n0 = 0; n0 < args.c.cols; n0 += step) {
    const int64_t n = std::min(step, args.c.cols - n0);
    const MutableMatrix c = args.c.floats().part(0, n0, m, n);
    const ConstMatrix b = right_columns(kernels, args.b, n0, n, right);
    if (in_tile) {
      // The residual is C itself, which the sums overwrite. So its values are saved in the tile, and the epilogue adds
      // them from there after the activation.
      for (int64_t i = 0; i < m; ++i) std::memcpy(tile + i * n, c.row(i), static_cast<size_t>(n) * sizeof(float));
    }
    const bool transposed = desc.layout == RightLayout::transposed;
    if (desc.left == ElementType::f32) {
      LINFORMER_TRY(sgemm(args.a.floats(), transposed, b, adds_to_c ? 1.f : 0.f, c));
    } else {
      LINFORMER_TRY(multiply_narrow(sgemm, kernels, args.a, transposed, b, adds_to_c, left, c));
    }
    if (asked.accumulate) continue;
    Epilogue rest = asked;
    if (asked.bias != nullptr) rest.bias = asked.bias + n0;
    rest.residual = {};
    if (in_tile) {
      rest.residual = {tile, m, n, n};
    } else if (asked.residual.data != nullptr && !adds_to_c) {
      rest.residual = asked.residual.part(0, n0, m, n);
    }
    apply_epilogue(kernels, rest, c);
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE
