#include "backends/plain_gemm.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace linformer {
namespace {

// Columns unpacked at a time: at K = 3072 this is 3 MB, and sgemm reads A once for each chunk.
constexpr int64_t chunk_width = 256;

bool is_unpacked(const ProductShape& shape) {
  return shape.layout == RightLayout::panel16 || shape.type != ElementType::f32;
}

// A residual that may be C itself can't wait behind an activation: the sums go to a tile first.
bool needs_tile(const ProductShape& shape) { return shape.residual && shape.activation != Activation::none; }

// Columns [n0, n0 + n) of panel16 weights as f32 rows of n; n0 is a multiple of the panel width.
void unpack_panels(const Kernels& kernels, const Product& p, ElementType type, int64_t n0, int64_t n, float* dst) {
  constexpr int64_t block_rows = 64;
  alignas(64) float block[block_rows * panel_width];
  const int64_t padded_k = round_up(p.k, panel_width);
  for (int64_t col = 0; col < n; col += panel_width) {
    const char* panel = static_cast<const char*>(p.b) + (n0 + col) * padded_k * element_bytes(type);
    const size_t row_bytes = static_cast<size_t>(std::min(panel_width, n - col)) * sizeof(float);
    for (int64_t k0 = 0; k0 < p.k; k0 += block_rows) {
      const int64_t rows = std::min(block_rows, p.k - k0);
      kernels.widen(type, panel + k0 * panel_width * element_bytes(type), block, rows * panel_width);
      for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(dst + (k0 + i) * n + col, block + i * panel_width, row_bytes);
      }
    }
  }
}

}  // namespace

bool residual_is_c(const Product& p) { return p.epilogue.residual == p.c && p.epilogue.residual_stride == p.c_stride; }

uint64_t plain_gemm_scratch(const ProductShape& shape) {
  int64_t elements = 0;
  if (is_unpacked(shape)) elements += shape.k * std::min(chunk_width, shape.n);
  if (needs_tile(shape)) elements += shape.max_m * std::min(chunk_width, shape.n);
  return static_cast<uint64_t>(elements) * sizeof(float);
}

void finish_rows(const Kernels& kernels, const Product& p, int64_t m0, int64_t m, int64_t n0, int64_t n,
                 const float* residual) {
  const Epilogue& epilogue = p.epilogue;
  for (int64_t i = m0; i < m0 + m; ++i) {
    float* c = p.c + i * p.c_stride + n0;
    if (epilogue.row_bias != nullptr) {
      const float row_bias = epilogue.row_bias[i];
      for (int64_t j = 0; j < n; ++j) c[j] += row_bias;
    }
    if (epilogue.bias != nullptr) kernels.add(c, epilogue.bias + n0, n);
    kernels.activate(epilogue.activation, c, n);
    if (residual != nullptr) kernels.add(c, residual + (i - m0) * epilogue.residual_stride, n);
  }
}

Status plain_gemm(Sgemm sgemm, const Kernels& kernels, const ProductShape& shape, const Product& p, void* scratch) {
  const Epilogue& epilogue = p.epilogue;
  const bool in_tile = needs_tile(shape) && residual_is_c(p);
  const bool adds_to_c = epilogue.accumulate || (epilogue.residual != nullptr && residual_is_c(p) && !in_tile);
  const bool whole = !is_unpacked(shape) && !in_tile;
  float* right = static_cast<float*>(scratch);
  float* tile = right + (is_unpacked(shape) ? shape.k * std::min(chunk_width, shape.n) : 0);
  const int64_t step = whole ? std::max<int64_t>(p.n, 1) : chunk_width;
  for (int64_t n0 = 0; n0 < p.n; n0 += step) {
    const int64_t n = std::min(step, p.n - n0);
    bool transposed = shape.layout == RightLayout::transposed;
    const float* b = right;
    int64_t b_stride = n;
    if (shape.layout == RightLayout::panel16) {
      unpack_panels(kernels, p, shape.type, n0, n, right);
    } else if (is_unpacked(shape)) {
      const char* rows = static_cast<const char*>(p.b) + n0 * p.b_stride * element_bytes(shape.type);
      for (int64_t j = 0; j < n; ++j) {
        kernels.widen(shape.type, rows + j * p.b_stride * element_bytes(shape.type), right + j * p.k, p.k);
      }
      b_stride = p.k;
    } else {
      b = static_cast<const float*>(p.b) + n0 * (transposed ? p.b_stride : 1);
      b_stride = p.b_stride;
    }
    if (in_tile) {
      // The tile takes C's old values, the residual, and C becomes the place of the sums.
      for (int64_t i = 0; i < p.m; ++i) {
        std::memcpy(tile + i * n, p.c + i * p.c_stride + n0, static_cast<size_t>(n) * sizeof(float));
      }
    }
    LINFORMER_TRY(sgemm(transposed, p.m, n, p.k, epilogue.alpha, p.a, p.a_stride, b, b_stride, adds_to_c ? 1.f : 0.f,
                        p.c + n0, p.c_stride));
    if (epilogue.accumulate) continue;
    if (in_tile) {
      Product rest = p;
      rest.epilogue.residual_stride = n;
      finish_rows(kernels, rest, 0, p.m, n0, n, tile);
    } else {
      finish_rows(kernels, p, 0, p.m, n0, n,
                  epilogue.residual == nullptr || adds_to_c ? nullptr : epilogue.residual + n0);
    }
  }
  return {};
}

}  // namespace linformer
