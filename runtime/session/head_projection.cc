// Keys and values compressed head by head: each head's own projection, convolution or pooling of Z W.
// Source: paper section 4 ("additional efficiency techniques"); Nystromformer and tatp22/linformer-pytorch.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {
namespace {

// out[window, :] = the mean or maximum of the window's rows.
void pool_windows(const Projection& projection, const float* rows, int64_t stride, int64_t n, int64_t width,
                  float* out) {
  const bool mean = projection.kind == ProjectionKind::mean_pool;
  const int64_t count = windows(projection, n), length = std::min<int64_t>(projection.kernel, n);
  for (int64_t w = 0; w < count; ++w, out += width) {
    std::fill_n(out, width, mean ? 0.f : -std::numeric_limits<float>::infinity());
    for (int64_t t = 0; t < length; ++t) {
      const float* row = rows + (w * projection.stride + t) * stride;
      for (int64_t i = 0; mean && i < width; ++i) out[i] += row[i];
      // A NaN stays.
      for (int64_t i = 0; !mean && i < width; ++i) out[i] = out[i] != out[i] || out[i] > row[i] ? out[i] : row[i];
    }
    const float share = mean ? 1.f / static_cast<float>(length) : 1.f;
    for (int64_t i = 0; i < width; ++i) out[i] *= share;
  }
}

}  // namespace

Status Session::State::keys_and_values_by_head(const LayerProgram& layer) {
  const int64_t head_dim = layer.description->attention.head_dim, width = layer.key_width;
  const int64_t groups = static_cast<int64_t>(layer.groups.size());
  const int64_t sides = layer.value_is_key ? 1 : 2;
  const Source source = source_of(layer);

  return parallel(batch.texts * sides * groups, [&](int64_t task, int thread) -> Status {
    const int64_t text = task / (sides * groups);
    const Side which = task / groups % sides == 0 ? key_side : value_side;
    const GroupProgram& group = layer.groups[static_cast<size_t>(task % groups)];
    const Projection& projection = *group.projections[which];
    const SideProgram& side = layer.sides[which];
    const int64_t n = source.length(text);
    const float* projected = buffer(which == key_side ? buffer_compressed_key : buffer_compressed_value) +
                             text * program.compressed_elements + group.column;
    float* out = buffer(which == key_side ? buffer_keys : buffer_values) + text * program.key_elements + group.key_row;
    GemmArgs gemm;
    if (projection.kind == ProjectionKind::linear) {
      gemm.a = {floats(projection.weight), projection.k, n, encoder().max_tokens};
      gemm.b = {projected, ElementType::f32, RightLayout::row_major, n, head_dim, width};
      gemm.c = {out, projection.k, head_dim, head_dim};
      gemm.epilogue.row_bias = floats(projection.bias);
      if (side.bias_after) gemm.epilogue.bias = floats(side.linear->bias) + group.column;
      return program.gemm->run(group.compress[which], gemm, scratch(thread));
    }
    if (projection.kind != ProjectionKind::convolution) {
      pool_windows(projection, projected, width, n, head_dim, out);
      return {};
    }
    // C = sum over t of (row t of every window) W_t^T.
    const int64_t m = windows(projection, n);
    gemm.c = {out, m, head_dim, head_dim};
    for (int64_t t = 0; t < std::min<int64_t>(projection.kernel, n); ++t) {
      gemm.a = {projected + t * width, m, head_dim, projection.stride * width};
      gemm.b = {floats(projection.weight) + t * head_dim * head_dim,
                ElementType::f32,
                RightLayout::transposed,
                head_dim,
                head_dim,
                head_dim};
      gemm.epilogue = {};
      gemm.epilogue.accumulate = t > 0;
      if (t == 0) gemm.epilogue.bias = floats(projection.bias);
      LINFORMER_TRY(
          program.gemm->run(t == 0 ? group.compress[which] : group.compress_more[which], gemm, scratch(thread)));
    }
    return {};
  });
}

}  // namespace linformer
