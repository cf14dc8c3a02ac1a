// out = softmax(scale Q K^T) V, head by head, with a running softmax: Milakov and Gimelshein 2018; Dao et al. 2022 for
// the blocks. Linformer is the case of k keys, full attention that of n. Nothing of heads x n x k exists.
#pragma once

#include <cmath>

#include "cuda/tile.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

// Where the keys and values of a group of heads lie and how many there are.
struct GroupKeys {
  int64_t offset = 0;  // of the group's first element in a sequence's slot
  int64_t count = 0;   // 0: as many as the sequence has rows; window > 0: what convolution and pooling leave of them
  int64_t window = 0, stride = 0;
};

struct AttentionParameters {
  const float* query = nullptr;  // [rows, query_ld]
  void* context = nullptr;       // [rows, context_ld], of the kernel's type; in the query's place or not
  int64_t query_ld = 0, context_ld = 0;
  const float *keys = nullptr, *values = nullptr;
  int64_t key_ld = 0, slot = 0;  // of a sequence: elements, or of full attention those of a row (`by_rows`)
  bool by_rows = false;
  // Compressed keys and values that all rows of a sequence see beside those of their window, as RowsBeside says: how
  // many there are, of these those of exact tokens, the positions that the others stand for, and elements from those of
  // one sequence to those of the next.
  const float *keys_beside = nullptr, *values_beside = nullptr;
  int64_t beside = 0, exact_beside = 0, span_beside = 0, beside_slot = 0;
  const GroupKeys* groups = nullptr;  // of the layer's groups of heads
  int heads_in_group = 1;
  const int32_t* starts = nullptr;       // [sequences + 1]: first query row
  const int32_t* sources = nullptr;      // [sequences + 1]: of the rows that keys are made of
  const uint8_t* masks = nullptr;        // of queries, or null
  const uint8_t* key_masks = nullptr;    // of keys, where masked ones are excluded
  const float* position_bias = nullptr;  // [heads, bias_ld], at its middle: key - query = 0; not of `keys_beside`
  int64_t bias_ld = 0, window = 0;
  int d_head = 0;
  int sequences = 0;
  float scale = 0;
  bool causal = false;
  bool first_only = false;  // a sequence has one query, of its first row: the sequence-th of `query`
};

template <class T, int depth>
struct AttentionKernel {
  static constexpr bool wide = sizeof(T) == 4;
  // As many as fit into the 64 KB of shared memory of sm_75 and into the registers.
  static constexpr int rows = wide ? (depth > 128 ? 32 : 64) : depth > 64 ? 64 : 128;
  static constexpr int keys_at_once = wide ? (depth > 128  ? 8
                                              : depth > 64 ? 16
                                                           : 32)
                                           : (depth > 128  ? 16
                                              : depth > 64 ? 32
                                                           : 64);
  static constexpr int warps = rows / tile_rows, threads = warps * warp_size;
  static constexpr int blocks_at_once = threads == 256 ? 2 : 1;
  static constexpr int unit = 16 / sizeof(T);
  static constexpr int ld = depth + unit;  // so that rows that follow one another begin in other banks
  static constexpr float lowest = -3e38f;
  static constexpr float log2_e = 1.44269504f;
  struct Shared {
    alignas(16) T query[rows][ld];  // then the context
    alignas(16) T keys[keys_at_once][ld];
    alignas(16) T values[keys_at_once][ld];
    alignas(32) float scratch[warps][staged_floats<T>];
  };
  static_assert(sizeof(Shared) <= 64 * 1024);

  AttentionParameters p;

  LINFORMER_DEVICE void operator()(Block<threads>& block, Shared& s) const {
    const int sequence = p.first_only ? static_cast<int>(block.x()) : sequence_of(block.x()), head = block.y();
    const int64_t start = p.starts[sequence], begin = p.first_only ? sequence : start;
    const int64_t n = p.first_only ? 1 : p.starts[sequence + 1] - begin;
    const int64_t first_row = p.first_only ? 0 : (block.x() - first_block(sequence)) * rows;
    if (first_row >= n) return;
    const int64_t source = p.sources[sequence], source_rows = p.sources[sequence + 1] - source;
    const GroupKeys keys = p.groups[head / p.heads_in_group];
    const int64_t count = keys.window > 0
                              ? (source_rows < keys.window ? 1 : (source_rows - keys.window) / keys.stride + 1)
                          : keys.count > 0 ? keys.count
                                           : source_rows;
    const int64_t place = (p.by_rows ? source : int64_t{sequence}) * p.slot + keys.offset;
    const int here = static_cast<int>(n - first_row < rows ? n - first_row : rows);
    const int64_t column = static_cast<int64_t>(head) * p.d_head;
    const Reach reach{head, first_row, source, here,
                      p.key_masks != nullptr || p.position_bias != nullptr || p.causal || p.window > 0};
    PerWarp<WarpState, threads> states;
    block.each([&](int thread) {
      const uint8_t* masks = p.masks == nullptr ? nullptr : p.masks + start + first_row;
      put(thread, read<rows>(thread, p.query + (begin + first_row) * p.query_ld + column, p.query_ld, here, masks),
          &s.query[0][0]);
    });
    block.each_warp([&](Warp& warp) {
      WarpState& state = states.of(warp);
      state.context.zero(warp);
      state.highest.each([](float& value, TileRow) { value = lowest; });
      state.sum.each([](float& value, TileRow) { value = 0; });
    });
    // Keys that none of these rows sees are left out.
    int64_t seen = count, first_seen = 0;
    if (p.causal && first_row + here < seen) seen = first_row + here;
    if (p.window > 0) {
      if (first_row + here + p.window < seen) seen = first_row + here + p.window;
      if (first_row > p.window) first_seen = (first_row - p.window) / keys_at_once * keys_at_once;
    }
    const auto some = [&](const float* key_rows, const float* value_rows, int64_t first, int64_t all, const Reach& by) {
      const int left = static_cast<int>(all - first < keys_at_once ? all - first : keys_at_once);
      block.each([&](int thread) {
        const auto some_keys = read<keys_at_once>(thread, key_rows + first * p.key_ld, p.key_ld, left, nullptr);
        const auto some_values = read<keys_at_once>(thread, value_rows + first * p.key_ld, p.key_ld, left, nullptr);
        put(thread, some_keys, &s.keys[0][0]);
        put(thread, some_values, &s.values[0][0]);
      });
      block.each_warp([&](Warp& warp) {
        if (warp.index() * tile_rows < here) attend(warp, s, states.of(warp), by, first, left);
      });
    };
    const int64_t beside = int64_t{sequence} * p.beside_slot + keys.offset, all_beside = seen_beside(source_rows);
    for (int64_t first = 0; first < all_beside; first += keys_at_once) {
      some(p.keys_beside + beside, p.values_beside + beside, first, all_beside, {head, first_row, source, here, false});
    }
    for (int64_t first = first_seen; first < seen; first += keys_at_once) {
      some(p.keys + place, p.values + place, first, count, reach);
    }
    block.each_warp([&](Warp& warp) {
      WarpState& state = states.of(warp);
      state.sum.each([](float& value, TileRow) { value = 1.f / value; });
      T* const to = s.query[warp.index() * tile_rows];
      state.context.each(warp,
                         [&](float& x, TileRow row, int c) { narrow(x * state.sum[row], to + row.row * ld + c); });
    });
    T* const context = static_cast<T*>(p.context) + (begin + first_row) * p.context_ld + column;
    block.each([&](int thread) { store(thread, &s.query[0][0], context, here); });
  }

  // Blocks for so many rows in so many sequences: each sequence has enough, and one more at most.
  static int64_t blocks(int64_t all_rows, int64_t all_sequences) { return all_rows / rows + all_sequences; }

 private:
  // Of a warp's 16 rows: the sums of values so far, for weights of 2^(score - highest), and the weights' sums.
  struct WarpState {
    RowTile<depth> context;
    RowValues highest, sum;
  };
  // What decides which keys a row sees. `checked`: not all rows see all keys alike, or scores have a position bias.
  struct Reach {
    int head;
    int64_t first_row, source;
    int rows;
    bool checked;
  };

  // RowsBeside::seen() of a sequence of n rows.
  LINFORMER_DEVICE int64_t seen_beside(int64_t n) const {
    if (p.span_beside == 0) return p.beside;
    if (n <= p.window + 1) return 0;
    const int64_t some = p.exact_beside + ((p.beside - p.exact_beside) * n + p.span_beside - 1) / p.span_beside;
    return some < p.beside ? some : p.beside;
  }

  LINFORMER_DEVICE int64_t first_block(int sequence) const { return p.starts[sequence] / rows + sequence; }
  LINFORMER_DEVICE int sequence_of(int64_t index) const {
    int low = 0, high = p.sequences;  // the last that begins at or before it
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (first_block(middle) <= index ? low : high) = middle;
    }
    return low;
  }

  static LINFORMER_DEVICE bool aligned(const void* data, int64_t row_bytes) {
    return reinterpret_cast<uintptr_t>(data) % 16 == 0 && row_bytes % 16 == 0;
  }
  // A thread's part of `rows` rows of a head's columns, on their way to shared memory: 4 columns at once, since threads
  // that load one number after the other wait for each.
  template <int all>
  struct Part {
    static constexpr int units = all * depth / 4, count = units / threads;
    static_assert(units % threads == 0);
    Pack<T, 4> x[count];
  };
  // Of the rows that aren't there or are masked, and of columns behind the head's, zeros.
  template <int all>
  LINFORMER_DEVICE Part<all> read(int thread, const float* from, int64_t from_ld, int present,
                                  const uint8_t* masks) const {
    Part<all> part;
    const bool whole = p.d_head % 4 == 0 && aligned(from, from_ld * int64_t{sizeof(float)});
    LINFORMER_UNROLL
    for (int i = 0; i < Part<all>::count; ++i) {
      const int at = thread + i * threads, r = at / (depth / 4), c = at % (depth / 4) * 4;
      Pack<float, 4> x = {};
      if (r < present && (masks == nullptr || (masks[r] & 2) == 0)) {
        const float* row = from + r * from_ld + c;
        if (whole) {
          if (c < p.d_head) x = *reinterpret_cast<const Pack<float, 4>*>(row);
        } else {
          for (int j = 0; j < 4; ++j) {
            if (c + j < p.d_head) x.x[j] = row[j];
          }
        }
      }
      for (int j = 0; j < 4; ++j) narrow(x.x[j], &part.x[i].x[j]);
    }
    return part;
  }
  template <int all>
  static LINFORMER_DEVICE void put(int thread, const Part<all>& part, T* to) {
    LINFORMER_UNROLL
    for (int i = 0; i < Part<all>::count; ++i) {
      const int at = thread + i * threads;
      *reinterpret_cast<Pack<T, 4>*>(to + at / (depth / 4) * ld + at % (depth / 4) * 4) = part.x[i];
    }
  }
  LINFORMER_DEVICE void store(int thread, const T* from, T* to, int count) const {
    if (p.d_head % unit == 0 && aligned(to, p.context_ld * int64_t{sizeof(T)})) {
      for (int i = thread; i < count * (depth / unit); i += threads) {
        const int r = i / (depth / unit), c = i % (depth / unit) * unit;
        using Unit = Pack<T, unit>;
        if (c < p.d_head) {
          *reinterpret_cast<Unit*>(to + r * p.context_ld + c) = *reinterpret_cast<const Unit*>(from + r * ld + c);
        }
      }
      return;
    }
    for (int i = thread; i < count * depth; i += threads) {
      const int r = i / depth, c = i % depth;
      if (c < p.d_head) to[r * p.context_ld + c] = from[r * ld + c];
    }
  }

  // What is added after scaling is divided by the scale first. Keys out of a query's reach count less than masked
  // ones, so that where all are masked the blocks that were left out make no difference.
  LINFORMER_DEVICE float masked(float score, int head, int64_t row, int64_t key, int64_t source) const {
    if (p.key_masks != nullptr && (p.key_masks[source + key] & 1) != 0) score = -1e30f;
    if (p.position_bias != nullptr) score += p.position_bias[head * p.bias_ld + key - row] / p.scale;
    const bool reaches =
        (!p.causal || key <= row) && (p.window == 0 || (key >= row - p.window && key <= row + p.window));
    return reaches ? score : -2e30f;
  }

  // A warp's 16 rows by a block of keys, of which there are `left`.
  LINFORMER_DEVICE void attend(Warp& warp, Shared& s, WarpState& state, const Reach& reach, int64_t first,
                               int left) const {
    const int begin = warp.index() * tile_rows;
    float* const scratch = s.scratch[warp.index()];
    RowTile<keys_at_once> weights;
    weights.zero(warp);
    weights.template multiply_transposed<T, depth>(warp, s.query[begin], s.keys[0], ld, scratch);
    const float unit_of_2 = p.scale * log2_e;
    if (reach.checked || left < keys_at_once) {
      weights.each(warp, [&](float& x, TileRow row, int j) {
        const int r = begin + row.row;
        if (j >= left) {
          x = lowest;
        } else {
          if (reach.checked && r < reach.rows) {
            x = masked(x, reach.head, reach.first_row + r, first + j, reach.source);
          }
          x *= unit_of_2;
        }
      });
    } else {
      weights.each(warp, [&](float& x, TileRow, int) { x *= unit_of_2; });
    }
    RowValues highest = weights.max(warp, lowest), rescale;
    highest.each([&](float& value, TileRow row) {
      if (state.highest[row] > value) value = state.highest[row];
    });
    rescale.each([&](float& value, TileRow row) { value = power_of_2(state.highest[row] - highest[row]); });
    weights.each(warp, [&](float& x, TileRow row, int) { x = power_of_2(x - highest[row]); });
    const RowValues sum = weights.sum(warp);
    state.sum.each([&](float& value, TileRow row) { value = value * rescale[row] + sum[row]; });
    state.highest = highest;
    state.context.each(warp, [&](float& x, TileRow row, int) { x *= rescale[row]; });
    state.context.template multiply<T, keys_at_once>(warp, weights, s.values[0], ld, scratch);
  }

  static LINFORMER_DEVICE float power_of_2(float x) {
#if defined(__CUDACC__)
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#else
    return __builtin_exp2f(x);
#endif
  }
};

}  // namespace LINFORMER_NAMESPACE::cuda
