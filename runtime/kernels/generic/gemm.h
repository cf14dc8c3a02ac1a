// Computes C = epilogue(A B). B is in panel16 and is read in place.
//
// The loops, from the outermost to the innermost, run over chunks of `row_chunk` rows of A; slabs of up to three panels
// of B (48 columns); blocks of K, so small that the slab's block stays in a near cache while all rows of the chunk are
// multiplied by it; and register tiles. Between two blocks of K the sums of a tile lie in `partial` (24 KB on the
// stack), or in C if there is no epilogue. They are not rounded, so blocking changes neither the order of accumulation
// nor any bit. The epilogue of a tile runs right after its last block.
//
// A step of a tile is the same in f32, bf16 and int8: 4 bytes of a row of A (1, 2 or 4 elements of K) times 64 bytes
// of a panel. A Product struct defines how they are multiplied. int8 also scales the sums after each block.
#pragma once

#include <utility>

#include "kernels/generic/finish.h"
#include "kernels/generic/narrow.h"
#include "kernels/generic/pack.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

inline constexpr int64_t row_chunk = 128;
inline constexpr int64_t step_bytes = 64;        // The bytes of a panel in one step of K.
inline constexpr int64_t least_stream_rows = 4;  // A lone tile with at least this many rows takes one panel at a time.
inline constexpr int64_t near_bytes = 1 << 17;   // A C of at most this size stays in a near cache until it is written.
// The steps of K in a block, after which sums go to `partial`. In int8 a block is a slice, whose sums are exact.
template <class P>
inline constexpr int64_t k_block = P::left == ElementType::int8 ? int8_slice / 4 : P::Lanes::k_block;
// Whether the sums of a block are scaled and folded right after it, so that every block begins with sums of zero.
template <class P>
inline constexpr bool folds_blocks = P::left == ElementType::int8;
// The steps of K in a block if weights are widened. The number is small, because widened weights lie in a buffer on
// the stack.
inline constexpr int64_t widened_steps = 256;

// Loads 4 bytes of a row of A.
LINFORMER_INLINE int32_t load_4_bytes(const char* a) {
  int32_t bits;
  __builtin_memcpy(&bits, a, sizeof bits);
  return bits;
}

// The product of A in f32 and B in f32, or widened to f32.
template <class L>
struct FloatProduct {
  using Lanes = L;
  using Sum = typename L::Batch;
  using Left = Sum;
  using Right = Sum;
  static constexpr ElementType left = ElementType::f32;
  static constexpr int tile_rows = L::tile_rows;
  static LINFORMER_INLINE Sum zero() { return Sum(0.f); }
  static LINFORMER_INLINE Left broadcast(const char* a) { return Sum(*reinterpret_cast<const float*>(a)); }
  static LINFORMER_INLINE Right load(const char* b) { return Sum::load_unaligned(reinterpret_cast<const float*>(b)); }
  static LINFORMER_INLINE Sum multiply_add(Left a, Right b, Sum sum) { return L::fma(a, b, sum); }
};

LINFORMER_INLINE void prefetch(uintptr_t address) { __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2); }

// The weights that a tile prefetches at every fourth step, from `address` on: one cache line or, if few tiles multiply
// by the same slab, `steps` steps of as many panels as the tile multiplies. Together the tiles prefetch the next block
// of the slab or the next slab.
struct Ahead {
  uintptr_t address;
  int64_t panel, step;  // The bytes from one panel to the next, and from one step to the next.
  int64_t steps;  // If 0, one cache line is prefetched.

  LINFORMER_INLINE void prefetch_step(int panels) {
    for (int p = 0; p < panels; ++p) prefetch(address + static_cast<uintptr_t>(p * panel));
    address += static_cast<uintptr_t>(step);
  }
};
inline constexpr int64_t turn_steps = 4;  // The steps of K between two prefetches.

// Where the sums of a tile lie between two blocks of K, and after the last block.
struct SumsPlace {
  PartialSum* first;
  int64_t ld;
};

// Multiplies A[Rows, K] by B[K, Panels * 16] over `steps` steps of K, and adds the products to the sums at `place`. If
// `first` or folds_blocks, it overwrites the sums instead. Each element has one accumulator, which takes K in order.
// Meanwhile the next weights are prefetched from L3 or memory into L2. Without the prefetches every slab would begin by
// waiting for its weights.
template <class P, int Rows, int Panels>
void multiply_tile(const char* a, int64_t a_stride, const char* b, int64_t panel_stride, int64_t steps, bool first,
                   SumsPlace place, const Ahead& next) {
  Ahead ahead = next;
  using Sum = typename P::Sum;
  constexpr int width = P::Lanes::width;
  constexpr int per_panel = panel_width / width;
  constexpr int columns = Panels * per_panel;
  // With few rows a step takes no longer than the instructions of the loop itself, so steps are unrolled.
  constexpr bool unrolled = Panels == P::Lanes::tile_panels && Rows < least_stream_rows;
  Sum sum[Rows][columns];
  // One address moves from row to row. The compiler would otherwise compute the addresses of all rows before the loop
  // and keep them in registers.
  PartialSum* row = place.first;
  if (folds_blocks<P> || first) {
    LINFORMER_UNROLL for (int i = 0; i < Rows; ++i) {
      LINFORMER_UNROLL for (int j = 0; j < columns; ++j) sum[i][j] = P::zero();
    }
  } else {
    LINFORMER_UNROLL for (int i = 0; i < Rows; ++i) {
      LINFORMER_UNROLL for (int j = 0; j < columns; ++j) sum[i][j] = load_sums<Sum>(row + j * width);
      row += place.ld;
      __asm__("" : "+r"(row));
    }
  }
  const auto multiply_step = [&]() __attribute__((always_inline)) {
    typename P::Right right[columns];
    LINFORMER_UNROLL for (int j = 0; j < columns; ++j) {
      right[j] = P::load(b + (j / per_panel) * panel_stride + (j % per_panel) * width * 4);
    }
    LINFORMER_UNROLL for (int i = 0; i < Rows; ++i) {
      const typename P::Left left = P::broadcast(a + i * a_stride);
      LINFORMER_UNROLL for (int j = 0; j < columns; ++j) sum[i][j] = P::multiply_add(left, right[j], sum[i][j]);
    }
    a += 4;
    b += step_bytes;
  };
  const char* const end = b + steps * step_bytes;
  while (b != end) {
    const char* turn_end = end;
    if (end - b > turn_steps * step_bytes) turn_end = b + turn_steps * step_bytes;
    if (ahead.steps == 0) {
      prefetch(ahead.address);
      ahead.address += cache_line;
    } else if constexpr (unrolled) {
      LINFORMER_UNROLL for (int64_t s = 0; s < turn_steps; ++s) ahead.prefetch_step(Panels);
    } else {
      LINFORMER_ROLL for (int64_t s = 0; s < ahead.steps; ++s) ahead.prefetch_step(Panels);
    }
    // With many rows the code of a step exists once. Unrolled it would be four times as large and no faster.
    if constexpr (unrolled) {
      if (turn_end != end) {
        LINFORMER_UNROLL for (int64_t s = 0; s < turn_steps; ++s) multiply_step();
        continue;
      }
    }
    LINFORMER_ROLL do {
      multiply_step();
      // Without this the compiler keeps an address for each row and panel, which takes more registers than there are.
      __asm__("" : "+r"(a), "+r"(b));
    }
    while (b != turn_end);
  }
  row = place.first;
  LINFORMER_UNROLL for (int i = 0; i < Rows; ++i) {
    LINFORMER_UNROLL for (int j = 0; j < columns; ++j) store_sums(row + j * width, sum[i][j]);
    row += place.ld;
    __asm__("" : "+r"(row));
  }
}

// A pointer to an instance of multiply_tile(). Ahead is passed by reference. By value it would be copied in one piece
// right after its members were written one by one. Such a load waits until all earlier stores, also those to C, are in
// the cache.
using MultiplyTile = void (*)(const char*, int64_t, const char*, int64_t, int64_t, bool, SumsPlace, const Ahead&);

template <class P, int Panels, int... Rows>
MultiplyTile tile_for(int64_t rows, std::integer_sequence<int, Rows...>) {
  static constexpr MultiplyTile tiles[] = {&multiply_tile<P, Rows + 1, Panels>...};
  return tiles[rows - 1];
}

template <class P>
MultiplyTile tile_for(int64_t rows, int64_t panels) {
  using L = typename P::Lanes;
  constexpr auto all_rows = std::make_integer_sequence<int, P::tile_rows>();
  static_assert(L::tile_panels == 1 || L::tile_panels == 3);
  if constexpr (L::tile_panels == 3) {
    if (panels == 3) return tile_for<P, 3>(rows, all_rows);
    if (panels == 2) return &multiply_tile<P, P::tile_rows, 2>;
  }
  return tile_for<P, 1>(rows, all_rows);
}

// Returns where the i-th of `parts` nearly equal parts of [0, count) begins.
constexpr int64_t part_begin(int64_t count, int64_t parts, int64_t i) { return count * i / parts; }

// Computes rows [m0, m0 + rows) of C, which are one chunk, in the columns of one slab.
template <class P>
void multiply_slab(const GemmArgs& gemm, int64_t m0, int64_t rows, int64_t panel0, int64_t panels) {
  using L = typename P::Lanes;
  constexpr bool may_widen = P::left == ElementType::f32;
  const bool widens = may_widen && gemm.b.type != ElementType::f32;
  const int64_t block_steps = widens ? widened_steps : k_block<P>;
  constexpr int64_t per_step = panel_interleave(P::left);  // The elements of K in a step.
  // The bytes of a panel's weights in a step.
  const int64_t weight_step = widens ? panel_width * element_bytes(gemm.b.type) : step_bytes;
  constexpr bool slices = folds_blocks<P>;
  alignas(64) PartialSum partial[row_chunk * slab_width];
  alignas(64) float folded[slices ? row_chunk * slab_width : 1];
  alignas(64) float wide[may_widen ? slab_panels * widened_steps * panel_width : 1];
  const int64_t all_steps = (gemm.a.cols + per_step - 1) / per_step;
  const int64_t panel_stride = gemm.b.panel_bytes();
  const int64_t tiles = (rows + P::tile_rows - 1) / P::tile_rows;
  const char* left = static_cast<const char*>(gemm.a.data);
  const int64_t left_stride = gemm.a.ld * element_bytes(P::left);
  const Epilogue& epilogue = gemm.epilogue;
  // If `direct`, sums are kept in C itself. If `continues`, sums begin with the values of C.
  // `continues` is an integer, because GCC stored a bool as one byte and read four bytes for a mask register. Such a
  // read waits until all earlier stores are in the cache.
  const int64_t continues = !slices && epilogue.accumulate;
  const bool direct = !slices && gemm.c.type == ElementType::f32 && gemm.c.cols >= (panel0 + panels) * panel_width &&
                      epilogue.bias == nullptr && epilogue.row_bias == nullptr &&
                      epilogue.activation == Activation::none && epilogue.residual.data == nullptr;
  const bool far = gemm.c.rows * gemm.c.cols * element_bytes(gemm.c.type) > near_bytes;
  const char* panels_begin = static_cast<const char*>(gemm.b.data) + panel0 * panel_stride;
  int64_t step0 = 0;
  do {
    const int64_t steps_left = all_steps - step0;
    const bool last = steps_left <= block_steps;
    const int64_t steps = last ? steps_left : block_steps;
    const char* const weights = panels_begin + step0 * weight_step;
    const char* block = weights;
    int64_t block_stride = panel_stride;
    // `next` is the address of the weights after this block. It may lie past the end, because a prefetch never faults.
    const bool more_slabs = (panel0 + panels) * panel_width < gemm.c.cols, more_rows = m0 + rows < gemm.c.rows;
    const char* next = !last        ? block + steps * weight_step
                       : more_slabs ? panels_begin + panels * panel_stride
                                    : static_cast<const char*>(more_rows ? gemm.b.data : gemm.next_weights);
    if (next == nullptr) next = block;
    // Of the caller's next weights only the address is known, not the stride of their panels. They are prefetched as
    // one run of bytes, which is as long as this block of panels.
    const int64_t next_stride = last && !more_slabs && !more_rows ? steps * weight_step : panel_stride;
    if (widens) {
      for (int64_t p = 0; p < panels; ++p) {
        widen_panel<L>(gemm.b, panel0 + p, step0, steps, wide + p * widened_steps * panel_width);
      }
      block = reinterpret_cast<const char*>(wide);
      block_stride = widened_steps * step_bytes;
    }
    // The time of a lone tile is the time of reading its weights. It multiplies one panel after the other, which reads
    // one stream of memory, and prefetches the next panel meanwhile. This is 1.5 times as fast as three panels at once,
    // if there are enough rows that additions to different sums overlap.
    const bool streams = !widens && tiles == 1 && rows >= least_stream_rows;
    const bool by_lines = tiles >= 12;
    const int64_t sharing = tiles >= 4 ? 4 : tiles >= 2 ? 2 : 1;  // How many tiles share the steps of the next panels.
    for (int64_t t = 0; t < tiles; ++t) {
      // Twelve tiles together prefetch three panels, one line at a time. Fewer tiles also share the panels evenly,
      // because prefetching all of them at once would exceed the bandwidth of memory.
      const int64_t part = steps / sharing * (t % sharing) * weight_step;
      const int64_t tile_next = by_lines ? t / 4 % panels * next_stride + part : part;
      const int64_t row = part_begin(rows, tiles, t);
      const int64_t tile_rows = part_begin(rows, tiles, t + 1) - row;
      const int64_t col = panel0 * panel_width;
      const int64_t cols = gemm.c.cols - col < panels * panel_width ? gemm.c.cols - col : panels * panel_width;
      if (last && far) prefetch_out(gemm.c, m0 + row, tile_rows, col, cols);
      SumsPlace sums{partial + row * slab_width, slab_width};
      if (direct) {
        sums = {gemm.c.floats().row(m0 + row) + col, gemm.c.ld};
      } else if (continues != 0 && step0 == 0) {
        for (int64_t i = 0; i < tile_rows; ++i) {
          __builtin_memcpy(sums.first + i * slab_width, gemm.c.floats().row(m0 + row + i) + col,
                           static_cast<size_t>(cols) * sizeof(float));
        }
      }
      // Two panels at once are multiplied only in tiles with all rows. For fewer rows this isn't worth another instance
      // of multiply_tile().
      const int64_t together = streams || (panels == 2 && tile_rows < P::tile_rows) ? 1 : L::tile_panels;
      const char* a = left + (m0 + row) * left_stride + step0 * 4;
      for (int64_t p = 0; p < panels; p += together) {
        const int64_t tile_panels = panels - p < together ? panels - p : together;
        uintptr_t ahead_of = reinterpret_cast<uintptr_t>(next) + static_cast<uintptr_t>(tile_next);
        if (streams && p + 1 < panels) {
          ahead_of = reinterpret_cast<uintptr_t>(weights + (p + 1) * panel_stride);
        } else if (!by_lines && !streams) {
          ahead_of += static_cast<uintptr_t>(p * next_stride);
        }
        const Ahead ahead{ahead_of, next_stride, weight_step, by_lines ? 0 : turn_steps / sharing};
        tile_for<P>(tile_rows, tile_panels)(a, left_stride, block + p * block_stride, block_stride, steps,
                                            (step0 | continues) == 0,
                                            {sums.first + p * panel_width, sums.ld}, ahead);
      }
      if (direct) continue;
      TileSums tile{sums.first, m0 + row, tile_rows, col, cols};
      if constexpr (slices) {
        tile.slice = step0 / block_steps;
        RowFactors factors[P::tile_rows];
        for (int64_t i = 0; i < tile_rows; ++i) {
          factors[i] = RowFactors::of(gemm.a.scales[(m0 + row + i) * gemm.a.scales_ld + tile.slice]);
        }
        tile.factors = factors;
        tile.folded = folded + row * slab_width;
        if (!last) {
          tile.cols = panels * panel_width;
          add_scaled_slice<L>(gemm, tile);
        } else {
          finish_tile<L, P::left, L::tile_panels>(gemm, tile);
        }
      } else if (last) {
        finish_tile<L, P::left, L::tile_panels>(gemm, tile);
      }
    }
    step0 += block_steps;
  } while (step0 < all_steps);
}

template <class P>
void multiply_all(const GemmArgs& gemm) {
  const int64_t panels = (gemm.c.cols + panel_width - 1) / panel_width;
  const int64_t slabs = (panels + slab_panels - 1) / slab_panels;
  for (int64_t m0 = 0; m0 < gemm.c.rows; m0 += row_chunk) {
    const int64_t rows = gemm.c.rows - m0 < row_chunk ? gemm.c.rows - m0 : row_chunk;
    for (int64_t s = 0; s < slabs; ++s) {
      const int64_t panel = part_begin(panels, slabs, s);
      multiply_slab<P>(gemm, m0, rows, panel, part_begin(panels, slabs, s + 1) - panel);
    }
  }
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
