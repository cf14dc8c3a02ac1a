// Products by tiles of 16 rows x 64 bytes (AMX), as templates over the tile operations: tests run them with emulated
// tiles on any machine.
//
// Tiles is a type with
//   type                                    bf16 or int8
//   configure(first, second)                rows of the two row tiles, 1 to 16 each
//   zero<C>(), store<C>(sums)               C = 0 to 3: sums of row tile C / 2 and panel C % 2, slab_width apart
//   load_rows<R>(a, stride)                 R = 0, 1: 64 bytes of each row of a row tile
//   load_panel<P>(b)                        P = 0, 1: 16 steps of a panel, 1 KB that lies together
//   multiply<C>()                           sums C += row tile C / 2 x panel C % 2
//   prefetch(address)
//   fold(...), finish(...)                  as fold_slice and finish_tile of finish.h do
// An element's sums run over K in tiles of 64 bytes, in order, whatever the rows and columns beside it.
#pragma once

#include "kernels/generic/sums.h"

namespace linformer {
namespace {

inline constexpr int64_t tile_side = 16;   // rows of a tile, and steps of a panel in one
inline constexpr int64_t tile_depth = 64;  // bytes of K
inline constexpr int64_t panel_tile = tile_side * 64;
inline constexpr int64_t tiled_rows = 128;  // that pass over two panels before the next two

// Where a pair of panels lies, and what is prefetched meanwhile.
struct PanelPair {
  const char* data;
  int64_t stride;        // bytes from the first panel to the second
  const char* prefetch;  // null: nothing
};

// sums (of 16 or 32 rows by `Panels` panels) over `steps` tiles of K.
template <int Panels, class Tiles>
void sum_tiles(Tiles& tiles, const char* a, int64_t a_stride, bool two, const PanelPair& panels, int64_t steps,
               PartialSum* sums) {
  tiles.template zero<0>();
  if constexpr (Panels == 2) tiles.template zero<1>();
  if (two) {
    tiles.template zero<2>();
    if constexpr (Panels == 2) tiles.template zero<3>();
  }
  for (int64_t step = 0; step < steps; ++step) {
    tiles.template load_rows<0>(a + step * tile_depth, a_stride);
    tiles.template load_panel<0>(panels.data + step * panel_tile);
    tiles.template multiply<0>();
    if constexpr (Panels == 2) {
      tiles.template load_panel<1>(panels.data + panels.stride + step * panel_tile);
      tiles.template multiply<1>();
    }
    if (two) {
      tiles.template load_rows<1>(a + tile_side * a_stride + step * tile_depth, a_stride);
      tiles.template multiply<2>();
      if constexpr (Panels == 2) tiles.template multiply<3>();
    }
    if (panels.prefetch == nullptr) continue;
    for (int64_t line = 0; line < panel_tile; line += 64) {
      for (int p = 0; p < Panels; ++p) tiles.prefetch(panels.prefetch + p * panels.stride + step * panel_tile + line);
    }
  }
  tiles.template store<0>(sums);
  if constexpr (Panels == 2) tiles.template store<1>(sums + panel_width);
  if (!two) return;
  tiles.template store<2>(sums + tile_side * slab_width);
  if constexpr (Panels == 2) tiles.template store<3>(sums + tile_side * slab_width + panel_width);
}

// Rows [m0, m0 + rows) by `panels` (1 or 2) panels, all of K.
template <class Tiles>
void multiply_panels(Tiles& tiles, const GemmArgs& gemm, int64_t m0, int64_t rows, int64_t panel0, int64_t panels) {
  constexpr bool slices = Tiles::type == ElementType::int8;
  alignas(64) PartialSum partial[tiled_rows * slab_width];
  alignas(64) float folded[slices ? tiled_rows * slab_width : 1];
  const int64_t width = element_bytes(Tiles::type), per_tile = tile_depth / width;
  const int64_t all_steps = (gemm.a.cols + per_tile - 1) / per_tile;
  const int64_t block = slices ? int8_slice / per_tile : all_steps;
  const int64_t stride = gemm.b.panel_bytes(), a_stride = gemm.a.ld * width;
  const char* left = static_cast<const char*>(gemm.a.data) + m0 * a_stride;
  const char* right = static_cast<const char*>(gemm.b.data) + panel0 * stride;
  const int64_t col = panel0 * panel_width;
  const int64_t cols = gemm.c.cols - col < panels * panel_width ? gemm.c.cols - col : panels * panel_width;
  const bool more = (panel0 + 2 * panels) * panel_width <= gemm.c.cols;  // as many panels follow
  for (int64_t step0 = 0; step0 < all_steps; step0 += block) {
    const int64_t steps = all_steps - step0 < block ? all_steps - step0 : block;
    const bool last = step0 + steps == all_steps;
    for (int64_t row = 0; row < rows; row += 2 * tile_side) {
      const int64_t count = rows - row < 2 * tile_side ? rows - row : 2 * tile_side;
      const bool two = count > tile_side;
      // Configuring takes as long as a few products: only where the number of rows changes.
      tiles.configure(two ? tile_side : count, two ? count - tile_side : tile_side);
      const char* here = right + step0 * panel_tile;
      const PanelPair pair{here, stride, row == 0 && more ? here + panels * stride : nullptr};
      PartialSum* sums = partial + row * slab_width;
      const char* a = left + row * a_stride + step0 * tile_depth;
      if (panels == 2) {
        sum_tiles<2>(tiles, a, a_stride, two, pair, steps, sums);
      } else {
        sum_tiles<1>(tiles, a, a_stride, two, pair, steps, sums);
      }
      if constexpr (slices) {
        if (all_steps > block) {
          float* of_tile = folded + row * slab_width;
          tiles.fold(gemm, sums, of_tile, m0 + row, count, col, panels * panel_width, step0 / block);
          if (last) tiles.template finish<SumKind::folded_int8>(gemm, of_tile, m0 + row, count, col, cols);
        } else {
          tiles.template finish<SumKind::int8>(gemm, sums, m0 + row, count, col, cols);
        }
      } else {
        tiles.template finish<SumKind::floats>(gemm, sums, m0 + row, count, col, cols);
      }
    }
  }
}

template <class Tiles>
void multiply_by_tiles(Tiles& tiles, const GemmArgs& gemm) {
  const int64_t panels = (gemm.c.cols + panel_width - 1) / panel_width;
  for (int64_t m0 = 0; m0 < gemm.c.rows; m0 += tiled_rows) {
    const int64_t rows = gemm.c.rows - m0 < tiled_rows ? gemm.c.rows - m0 : tiled_rows;
    for (int64_t panel = 0; panel < panels; panel += 2) {
      multiply_panels(tiles, gemm, m0, rows, panel, panels - panel < 2 ? 1 : 2);
    }
  }
}

}  // namespace
}  // namespace linformer
