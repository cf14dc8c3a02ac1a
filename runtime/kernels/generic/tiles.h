// Products by tiles of 16 rows x 64 bytes (AMX). The code is a template over the tile operations, so that tests can run
// it with emulated tiles on any machine.
//
// The loops, from the outermost to the innermost, run over chunks of rows (in bf16 all rows are one chunk); pairs of
// panels; blocks of 32 rows; slices of K; tiles of K. A multiplication of tiles takes 16 cycles and one of the two
// ports for vectors of 512 bits. The other port is free, so the epilogue of a block runs between the multiplications of
// the next block. In int8, one row of the epilogue follows each multiplication if K is at most one slice, the epilogue
// has no row bias and no activation other than GELU, its block has two whole panels, and the next block has two panels
// and more than 16 rows. In all other cases, the epilogue is divided into pieces of a few rows, which are called
// through a function pointer. If a bf16 product has no epilogue, the sums of blocks with whole panels are stored in C
// directly.
//
// Tiles is a type with
//   type                                    bf16 or int8
//   configure(first, second)                sets the rows of the two row tiles, 1 to 16 each
//   zero<C>()                               clears sums C (0 to 3), those of row tile C / 2 and panel C % 2
//   load<C>(sums, stride), store<C>(...)    loads or stores rows of 16 sums that are `stride` bytes apart
//   load_rows<R>(a, stride)                 loads row tile R (0 or 1), 64 bytes of each row
//   load_panel<P>(b)                        loads 16 steps of panel P (0 or 1), 1 KB of consecutive bytes
//   multiply<C>()                           sums C += row tile C / 2 x panel C % 2
//   prefetch(address)                       prefetches a cache line into L2
//   add_scaled_slice(...), finish(...)      like add_scaled_slice and finish_tile of finish.h
//   Rows<gelu>                              for int8: like WholeRows of finish.h for two panels, with the same bits
// The sum of an element takes K in tiles of 64 bytes, in order, whatever the other rows and columns are.
#pragma once

#include <type_traits>

#include "kernels/generic/sums.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

inline constexpr int64_t tile_side = 16;                        // The rows of a tile, and the steps of a panel in it.
inline constexpr int64_t tile_depth = 64;                       // The bytes of K in a tile.
inline constexpr int64_t panel_tile = tile_side * 64;           // The bytes of a panel in a tile.
inline constexpr int64_t tiled_rows = 2 * tile_side;            // The rows of a block.
inline constexpr int64_t block_sums = tiled_rows * slab_width;  // The sums of a block, in rows of slab_width.
inline constexpr int64_t first_epilogue_step = 2;

template <class Tiles>
class TileProduct {
 public:
  TileProduct(Tiles& tiles, const GemmArgs& gemm) : tiles_(tiles), gemm_(gemm) {}

  void run() {
    const int64_t panels = (gemm_.c.cols + panel_width - 1) / panel_width;
    const int64_t chunk = slices ? most_factors / slice_count_ / tiled_rows * tiled_rows : gemm_.c.rows;
    for (int64_t row = 0; row < gemm_.c.rows; row += chunk) {
      const int64_t rows = gemm_.c.rows - row < chunk ? gemm_.c.rows - row : chunk;
      if constexpr (slices) read_factors(row, rows);
      for (int64_t panel = 0; panel < panels; panel += 2) {
        multiply_panels(row, rows, panel, panels - panel > 1 ? 2 : 1);
      }
      finish_all();
    }
  }

 private:
  static constexpr bool slices = Tiles::type == ElementType::int8;
  static constexpr int64_t width = element_bytes(Tiles::type), per_tile = tile_depth / width;
  // Of the next panels, all lines (1) or half of the lines (2) are prefetched. Lines on their way from L3 take the
  // places of lines that come from L2. In bf16 many lines come from L2, because two panels are usually larger than L1,
  // so prefetching half is 20 % faster than prefetching all.
  static constexpr int64_t prefetched_part = slices ? 1 : 2;

  // The row factors of 32 rows with the largest K.
  static constexpr int64_t most_factors = tiled_rows * int8_slices(int64_t{1} << 16);

  // A block of C, rows by columns, in one slice of K.
  struct Block {
    int64_t row = 0, rows = 0, col = 0, cols = 0, slice = 0;
    bool last = true;            // Whether this is the last slice of K.
    PartialSum* sums = nullptr;  // Where the sums are stored.
    int64_t stride = 0;          // The bytes from one row of sums to the next.
    bool direct = false;         // Whether the sums are stored in C itself.
  };
  // Cache lines of later panels. A block prefetches them between its multiplications.
  struct Ahead {
    const char* lines = nullptr;
    int64_t count = 0;
  };

  // Reads the scales and zero points of rows [row, row + rows). They lie far apart, so they are read once for all
  // panels.
  void read_factors(int64_t row, int64_t rows) {
    first_factor_ = row;
    factor_rows_ = rows;
    for (int64_t i = 0; i < rows; ++i) {
      const RowScale* scales = gemm_.a.scales + (row + i) * gemm_.a.scales_ld;
      for (int64_t s = 0; s < slice_count_; ++s) factors_[s * rows + i] = RowFactors::of(scales[s]);
    }
  }

  // Multiplies rows [row0, row0 + all_rows) by one or two panels, over all of K.
  void multiply_panels(int64_t row0, int64_t all_rows, int64_t panel, int64_t count) {
    const int64_t all_steps = (gemm_.a.cols + per_tile - 1) / per_tile;
    const int64_t slice_steps = slices ? int8_slice / per_tile : all_steps;
    const int64_t stride = gemm_.b.panel_bytes(), a_stride = gemm_.a.ld * width;
    const char* right = static_cast<const char*>(gemm_.b.data) + panel * stride;
    const int64_t col = panel * panel_width, left_cols = gemm_.c.cols - col;
    const bool more = left_cols >= 2 * count * panel_width;  // Whether at least as many panels follow.
    const int64_t blocks = (all_rows + tiled_rows - 1) / tiled_rows;
    // Prefetches are spread evenly over all blocks and steps, and pieces of the epilogue over the steps of a block.
    const int64_t most_steps = all_steps < slice_steps ? all_steps : slice_steps;
    const int64_t all_pieces = tiled_rows / piece_rows_;
    const int64_t lines_of_block = (most_steps * tile_side / prefetched_part + blocks - 1) / blocks;
    lines_a_step_ = (lines_of_block + most_steps - 1) / most_steps;
    const int64_t delay = epilogue_delay(most_steps), epilogue_steps = most_steps > delay ? most_steps - delay : 1;
    pieces_a_step_ = (all_pieces + epilogue_steps - 1) / epilogue_steps;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t row = row0 + b * tiled_rows, rows_left = all_rows - b * tiled_rows;
      Block block{row, rows_left < tiled_rows ? rows_left : tiled_rows, col,
                  left_cols < count * panel_width ? left_cols : count * panel_width};
      choose_sums_address(&block, count);
      if (accumulates() && !block.direct) copy_c_to_sums(block);
      const bool two = block.rows > tile_side;
      // Configuring takes as long as a few multiplications and clears the registers, so it is only done if the shape
      // changes.
      if (block.rows != shape_rows_ || count != shape_panels_) {
        finish_all();
        tiles_.configure(two ? tile_side : block.rows, two ? block.rows - tile_side : tile_side);
        shape_rows_ = block.rows;
        shape_panels_ = count;
      }
      for (int64_t step = 0; step < all_steps; step += slice_steps, ++block.slice) {
        const int64_t steps = all_steps - step < slice_steps ? all_steps - step : slice_steps;
        block.last = step + steps == all_steps;
        const char* panels = right + step * panel_tile;
        const char* a = static_cast<const char*>(gemm_.a.data) + row * a_stride + step * tile_depth;
        Ahead ahead;
        if (const int64_t first = b * lines_of_block, end = first + lines_of_block, lines = steps * tile_side; more) {
          ahead = {panels + count * stride + first * 64, (end < lines ? end : lines) - first};
        }
        const Step step_of = {two, a, a_stride, panels, stride, steps, ahead};
        if (count == 2 && two && by_rows_ != nullptr && fills_two_panels(held_)) {
          (this->*by_rows_)(block, step_of);
        } else if (count == 2) {
          sum_tiles<2, NoRows>(block, step_of);
        } else {
          sum_tiles<1, NoRows>(block, step_of);
        }
      }
    }
  }

  // The operands of a block in one slice of K: row tiles and panels, over `steps` tiles of K.
  struct Step {
    bool two;  // Whether there are two row tiles.
    const char* a;
    int64_t a_stride;
    const char* panels;
    int64_t stride;
    int64_t steps;
    Ahead ahead;
  };
  // Returns the step of the next block at which the epilogue of a block begins. At an earlier step the stores of that
  // block's sums would still be in progress.
  static int64_t epilogue_delay(int64_t steps) { return steps > 2 * first_epilogue_step ? first_epilogue_step : 1; }
  // Takes the place of Tiles::Rows if the epilogue doesn't run row by row.
  struct NoRows {};

  // Computes the sums of a block and, between multiplications, runs the epilogue of the block before and prefetches.
  // The sums stay in their registers. The next block stores each when it needs the register, so nothing waits for the
  // last multiplications.
  template <int Panels, class Rows>
  [[gnu::noinline]] void sum_tiles(const Block& block, const Step& of) {
    constexpr bool rowwise = !std::is_same_v<Rows, NoRows>;
    const bool two = rowwise || of.two;
    const char *a = of.a, *panels = of.panels;
    const int64_t a_stride = of.a_stride, stride = of.stride, steps = of.steps, delay = epilogue_delay(steps);
    Ahead ahead = of.ahead;
    [[maybe_unused]] Rows rows;
    [[maybe_unused]] int64_t rows_left = 0;  // The rows of the block before whose epilogue must still run.
    const auto finish_row = [&]() __attribute__((always_inline)) {
      if constexpr (rowwise) {
        if (rows_left == 0) return;
        --rows_left;
        rows.finish_row();
      }
    };
    for (int64_t step = 0; step < steps; ++step) {
      const bool first = step == 0;
      tiles_.template load_rows<0>(a, a_stride);
      tiles_.template load_panel<0>(panels);
      if (first) begin_register<0>(block);
      tiles_.template multiply<0>();
      finish_row();
      if constexpr (Panels == 2) {
        tiles_.template load_panel<1>(panels + stride);
        if (first) begin_register<1>(block);
        tiles_.template multiply<1>();
        finish_row();
      }
      if (two) {
        tiles_.template load_rows<1>(a + tile_side * a_stride, a_stride);
        if (first) begin_register<2>(block);
        tiles_.template multiply<2>();
        finish_row();
        if constexpr (Panels == 2) {
          if (first) begin_register<3>(block);
          tiles_.template multiply<3>();
          finish_row();
        }
      }
      if (first) {
        if (holds_ && !held_.direct) begin_epilogue_of_held();
        held_ = block;
        holds_ = true;
      }
      a += tile_depth;
      panels += panel_tile;
      for (int64_t i = 0; i < lines_a_step_ && ahead.count > 0; ++i, --ahead.count, ahead.lines += 64) {
        tiles_.prefetch(ahead.lines);
        if constexpr (Panels == 2) tiles_.prefetch(ahead.lines + stride);
      }
      if constexpr (rowwise) {
        if (step == delay - 1 && finished_ < tiled_rows) {
          rows.begin(gemm_, sums_of_rows(0, done_.rows));
          rows_left = done_.rows;
          finished_ = tiled_rows;
        }
      } else {
        for (int64_t i = 0; step >= delay && i < pieces_a_step_ && finished_ < tiled_rows; ++i) finish_piece();
      }
    }
    if constexpr (rowwise) {
      while (rows_left > 0) finish_row();
    } else {
      while (finished_ < tiled_rows) finish_piece();
    }
  }

  using SumTiles = void (TileProduct::*)(const Block& block, const Step& of);
  // Returns the function for whole blocks whose epilogue runs row by row, or null if the epilogue must run in pieces.
  // In bf16 the multiplications of a block take twice as long, and running the epilogue row by row gave no gain.
  SumTiles rowwise_sum_tiles() const {
    if constexpr (slices) {
      const Epilogue& epilogue = gemm_.epilogue;
      if (slice_count_ > 1 || epilogue.row_bias != nullptr) return nullptr;
      if (epilogue.activation == Activation::none) {
        return &TileProduct::template sum_tiles<2, typename Tiles::template Rows<false>>;
      }
      if (epilogue.activation == Activation::gelu) {
        return &TileProduct::template sum_tiles<2, typename Tiles::template Rows<true>>;
      }
    }
    return nullptr;
  }
  // Returns whether the block whose sums are in registers has two whole panels, or there is no such block.
  bool fills_two_panels(const Block& held) const { return !holds_ || held.cols == 2 * panel_width; }

  // Decides whether a block keeps its sums in C itself: in bf16, if there is no epilogue and its panels are whole.
  [[gnu::noinline]] void choose_sums_address(Block* block, int64_t panels) {
    const Epilogue& epilogue = gemm_.epilogue;
    block->direct = !slices && gemm_.c.type == ElementType::f32 && block->cols == panels * panel_width &&
                    epilogue.bias == nullptr && epilogue.row_bias == nullptr &&
                    epilogue.activation == Activation::none && epilogue.residual.data == nullptr;
    block->sums = block->direct ? gemm_.c.floats().row(block->row) + block->col : sums_;
    block->stride = (block->direct ? gemm_.c.ld : slab_width) * static_cast<int64_t>(sizeof(PartialSum));
  }
  template <int C>
  static PartialSum* sums_of(const Block& block) {
    return block.sums + C / 2 * tile_side * (block.stride / static_cast<int64_t>(sizeof(PartialSum))) +
           C % 2 * panel_width;
  }
  template <int C>
  void store() {
    tiles_.template store<C>(sums_of<C>(held_), held_.stride);
  }
  // Returns whether the sums begin with the values of C.
  bool accumulates() const { return !slices && gemm_.epilogue.accumulate; }
  // Copies the values of C to the place of the sums, for a block that doesn't keep its sums in C itself.
  [[gnu::noinline]] void copy_c_to_sums(const Block& block) {
    finish_all();
    for (int64_t i = 0; i < block.rows; ++i) {
      const float* from = gemm_.c.floats().row(block.row + i) + block.col;
      __builtin_memcpy(sums_ + i * slab_width, from, static_cast<size_t>(block.cols) * sizeof(float));
    }
  }
  // Stores register C for the block before and prepares it for this block.
  template <int C>
  void begin_register(const Block& block) {
    if (holds_) store<C>();
    if (accumulates()) {
      tiles_.template load<C>(sums_of<C>(block), block.stride);
    } else {
      tiles_.template zero<C>();
    }
  }
  // Makes the held block, whose sums are in memory now, the one whose epilogue runs next.
  void begin_epilogue_of_held() {
    done_ = held_;
    finished_ = 0;
  }

  [[gnu::noinline]] void finish_all() {
    if (!holds_) return;
    store<0>();
    if (shape_panels_ == 2) store<1>();
    if (shape_rows_ > tile_side) store<2>();
    if (shape_rows_ > tile_side && shape_panels_ == 2) store<3>();
    holds_ = false;
    if (held_.direct) return;
    begin_epilogue_of_held();
    while (finished_ < tiled_rows) finish_piece();
  }

  // Returns the sums of rows [first, first + rows) of the last block that was stored.
  TileSums sums_of_rows(int64_t first, int64_t rows) {
    TileSums tile{sums_ + first * slab_width, done_.row + first, rows, done_.col, done_.cols};
    if constexpr (slices) {
      tile.slice = done_.slice;
      tile.factors = factors_ + done_.slice * factor_rows_ + tile.row - first_factor_;
      tile.folded = folded_ + first * slab_width;
    }
    return tile;
  }

  // Runs the epilogue of the next few rows of the last block that was stored.
  [[gnu::noinline]] void finish_piece() {
    const int64_t first = finished_;
    finished_ += piece_rows_;
    if (first >= done_.rows) return;
    TileSums tile = sums_of_rows(first, done_.rows - first < piece_rows_ ? done_.rows - first : piece_rows_);
    if constexpr (slices) {
      if (!done_.last) {
        tile.cols = (done_.cols + panel_width - 1) / panel_width * panel_width;
        return tiles_.add_scaled_slice(gemm_, tile);
      }
    }
    tiles_.finish(gemm_, tile);
  }

  Tiles& tiles_;
  const GemmArgs gemm_;
  int64_t shape_rows_ = 0, shape_panels_ = 0;
  int64_t lines_a_step_ = 0, pieces_a_step_ = 0;
  Block held_, done_;              // The block whose sums are in registers, and the block whose sums are in sums_.
  bool holds_ = false;             // Whether there is a held_ block.
  int64_t finished_ = tiled_rows;  // The rows of done_ whose epilogue has run.
  // The rows whose epilogue runs at once, between two steps. There are fewer if an activation makes a row take longer.
  const int64_t piece_rows_ = gemm_.epilogue.activation == Activation::none ? 8 : 4;
  alignas(64) PartialSum sums_[block_sums];
  alignas(64) float folded_[slices ? block_sums : 1];
  const int64_t slice_count_ = slices ? int8_slices(gemm_.a.cols) : 1;
  const SumTiles by_rows_ = rowwise_sum_tiles();
  int64_t first_factor_ = 0, factor_rows_ = 0;
  RowFactors factors_[slices ? most_factors : 1];
};

template <class Tiles>
void multiply_by_tiles(Tiles& tiles, const GemmArgs& gemm) {
  TileProduct<Tiles>(tiles, gemm).run();
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
