// Computes out = softmax(scale Q K^T) V for each head. It processes blocks of keys with an online softmax (Milakov and
// Gimelshein 2018; Dao et al. 2022), so that no matrix of heads x n x k scores is stored. A Linformer has k compressed
// keys, and full attention has n keys.
#pragma once

#include <cmath>

#include "cuda/tile.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

// The place and the number of the keys and values of a group of heads.
struct GroupKeys {
  int64_t offset = 0;  // The group's first element in the slot of a sequence or, with `by_rows`, in a row.
  // The number of keys. If it is 0 and `window` is 0, there is a key for each row of the sequence. If `window` is
  // positive, convolution or pooling makes a key from each window of rows.
  int64_t count = 0;
  int64_t window = 0, stride = 0;
};

struct AttentionParameters {
  const float* query = nullptr;  // [rows, query_ld]
  void* context = nullptr;       // [rows, context_ld], of the kernel's type. It may be the memory of `query`.
  int64_t query_ld = 0, context_ld = 0;
  const float *keys = nullptr, *values = nullptr;
  // `slot` is the number of elements from the keys of a sequence to those of the next one. With `by_rows` (full
  // attention) the keys of all sequences follow one another, and `slot` is the number of elements of a row.
  int64_t key_ld = 0, slot = 0;
  bool by_rows = false;
  // Compressed keys and values (RowsBeside). All queries of a sequence see the first visible_beside() of them, in
  // addition to the keys in their window. `beside` is their number, and the first `exact_beside` of them are exact
  // tokens. The others stand for `span_beside` positions. `beside_slot` is the number of elements from one sequence to
  // the next.
  const float *keys_beside = nullptr, *values_beside = nullptr;
  int64_t beside = 0, exact_beside = 0, span_beside = 0, beside_slot = 0;
  const GroupKeys* groups = nullptr;  // An element for each group of heads in the layer.
  int heads_in_group = 1;
  const int32_t* starts = nullptr;     // [sequences + 1], the first query row of each sequence.
  const int32_t* sources = nullptr;    // [sequences + 1], the first of the rows that a sequence's keys are made of.
  const uint8_t* masks = nullptr;      // The masks of the queries, or null.
  const uint8_t* key_masks = nullptr;  // The masks of the keys if masked keys are excluded, otherwise null.
  // [heads, bias_ld]. Points to the middle of the first row, which is the bias for key position - query position = 0.
  // `keys_beside` have no bias.
  const float* position_bias = nullptr;
  int64_t bias_ld = 0, window = 0;
  int d_head = 0;
  int sequences = 0;
  float scale = 0;
  bool causal = false;
  bool first_only = false;  // Each sequence has one query, its first row. It is row s of `query` for sequence s.
};

template <class T, int depth>
struct AttentionKernel {
  static constexpr bool wide = sizeof(T) == 4;
  // The queries of a block and the keys that it processes at a time. They are chosen so that shared memory fits the 64
  // KB of sm_75, and the scores and the context fit the registers.
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
  static constexpr int ld = depth + unit;  // Padded, so that consecutive rows begin in different banks.
  static constexpr float lowest = -3e38f;
  static constexpr float log2_e = 1.44269504f;
  struct Shared {
    alignas(16) T query[rows][ld];  // The context overwrites it at the end.
    alignas(16) T keys[keys_at_once][ld];
    alignas(16) T values[keys_at_once][ld];
    alignas(32) float scratch[warps][staged_floats<T>];
  };
  static_assert(sizeof(Shared) <= 64 * 1024);

  AttentionParameters p;

  LINFORMER_DEVICE void operator()(Block<threads>& block, Shared& s) const {
    const int sequence = p.first_only ? static_cast<int>(block.x()) : sequence_of_block(block.x()), head = block.y();
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
      store_to_shared(
          thread, load_part<rows>(thread, p.query + (begin + first_row) * p.query_ld + column, p.query_ld, here, masks),
          &s.query[0][0]);
    });
    block.each_warp([&](Warp& warp) {
      WarpState& state = states.of(warp);
      state.context.zero(warp);
      state.highest.each([](float& value, TileRow) { value = lowest; });
      state.sum.each([](float& value, TileRow) { value = 0; });
    });
    // Keys that no query of this block sees are skipped.
    int64_t seen = count, first_seen = 0;
    if (p.causal && first_row + here < seen) seen = first_row + here;
    if (p.window > 0) {
      if (first_row + here + p.window < seen) seen = first_row + here + p.window;
      if (first_row > p.window) first_seen = (first_row - p.window) / keys_at_once * keys_at_once;
    }
    const auto some = [&](const float* key_rows, const float* value_rows, int64_t first, int64_t all, const Reach& by) {
      const int left = static_cast<int>(all - first < keys_at_once ? all - first : keys_at_once);
      block.each([&](int thread) {
        const auto some_keys = load_part<keys_at_once>(thread, key_rows + first * p.key_ld, p.key_ld, left, nullptr);
        const auto some_values =
            load_part<keys_at_once>(thread, value_rows + first * p.key_ld, p.key_ld, left, nullptr);
        store_to_shared(thread, some_keys, &s.keys[0][0]);
        store_to_shared(thread, some_values, &s.values[0][0]);
      });
      block.each_warp([&](Warp& warp) {
        if (warp.index() * tile_rows < here) attend(warp, s, states.of(warp), by, first, left);
      });
    };
    const int64_t beside = int64_t{sequence} * p.beside_slot + keys.offset, all_beside = visible_beside(source_rows);
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
    block.each([&](int thread) { store_context(thread, &s.query[0][0], context, here); });
  }

  // Returns the number of blocks for `all_rows` queries in `all_sequences` sequences. A sequence may get one block more
  // than it needs.
  static int64_t blocks(int64_t all_rows, int64_t all_sequences) { return all_rows / rows + all_sequences; }

 private:
  // The online softmax of a warp's 16 queries: the largest score of each query so far, the sum of the weights 2^(score
  // - highest), and the sum of the values with these weights.
  struct WarpState {
    RowTile<depth> context;
    RowValues highest, sum;
  };
  // The data that decide which keys a query sees. `checked` is false if all queries see all keys and scores have no
  // position bias.
  struct Reach {
    int head;
    int64_t first_row, source;
    int rows;
    bool checked;
  };

  // Returns RowsBeside::visible_rows(n) for a sequence of n rows.
  LINFORMER_DEVICE int64_t visible_beside(int64_t n) const {
    if (p.span_beside == 0) return p.beside;
    if (n <= p.window + 1) return 0;
    const int64_t some = p.exact_beside + ((p.beside - p.exact_beside) * n + p.span_beside - 1) / p.span_beside;
    return some < p.beside ? some : p.beside;
  }

  LINFORMER_DEVICE int64_t first_block(int sequence) const { return p.starts[sequence] / rows + sequence; }
  LINFORMER_DEVICE int sequence_of_block(int64_t index) const {
    int low = 0, high = p.sequences;  // Searches the last sequence whose first block is not behind `index`.
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (first_block(middle) <= index ? low : high) = middle;
    }
    return low;
  }

  static LINFORMER_DEVICE bool aligned(const void* data, int64_t row_bytes) {
    return reinterpret_cast<uintptr_t>(data) % 16 == 0 && row_bytes % 16 == 0;
  }
  // A thread's part of `all` rows of a head, on the way to shared memory. A thread loads 4 columns at a time and
  // several of these packs before it stores them. With single loads it would wait for each number.
  template <int all>
  struct Part {
    static constexpr int units = all * depth / 4, count = units / threads;
    static_assert(units % threads == 0);
    Pack<T, 4> x[count];
  };
  // Loads a thread's part. Rows from `present` on, masked rows and columns beyond the head's are zero.
  template <int all>
  LINFORMER_DEVICE Part<all> load_part(int thread, const float* from, int64_t from_ld, int present,
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
  static LINFORMER_DEVICE void store_to_shared(int thread, const Part<all>& part, T* to) {
    LINFORMER_UNROLL
    for (int i = 0; i < Part<all>::count; ++i) {
      const int at = thread + i * threads;
      *reinterpret_cast<Pack<T, 4>*>(to + at / (depth / 4) * ld + at % (depth / 4) * 4) = part.x[i];
    }
  }
  LINFORMER_DEVICE void store_context(int thread, const T* from, T* to, int count) const {
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

  // Returns the score after masks and the position bias. The score is scaled later, so the bias is divided by the
  // scale. A key outside the causal or window range of the query gets a lower score than a masked key. So if all keys
  // in range are masked, the result is the same whether blocks of keys out of range are skipped or not.
  LINFORMER_DEVICE float mask_and_bias(float score, int head, int64_t row, int64_t key, int64_t source) const {
    if (p.key_masks != nullptr && (p.key_masks[source + key] & 1) != 0) score = -1e30f;
    if (p.position_bias != nullptr) score += p.position_bias[head * p.bias_ld + key - row] / p.scale;
    const bool reaches =
        (!p.causal || key <= row) && (p.window == 0 || (key >= row - p.window && key <= row + p.window));
    return reaches ? score : -2e30f;
  }

  // Adds a block of `key_count` keys, from key `first` on, to the online softmax of a warp's 16 queries.
  LINFORMER_DEVICE void attend(Warp& warp, Shared& s, WarpState& state, const Reach& reach, int64_t first,
                               int key_count) const {
    const int begin = warp.index() * tile_rows;
    float* const scratch = s.scratch[warp.index()];
    RowTile<keys_at_once> weights;
    weights.zero(warp);
    weights.template multiply_transposed<T, depth>(warp, s.query[begin], s.keys[0], ld, scratch);
    const float unit_of_2 = p.scale * log2_e;
    if (reach.checked || key_count < keys_at_once) {
      weights.each(warp, [&](float& x, TileRow row, int j) {
        const int r = begin + row.row;
        if (j >= key_count) {
          x = lowest;
        } else {
          if (reach.checked && r < reach.rows) {
            x = mask_and_bias(x, reach.head, reach.first_row + r, first + j, reach.source);
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
    rescale.each([&](float& value, TileRow row) { value = exp2_approximate(state.highest[row] - highest[row]); });
    weights.each(warp, [&](float& x, TileRow row, int) { x = exp2_approximate(x - highest[row]); });
    const RowValues sum = weights.sum(warp);
    state.sum.each([&](float& value, TileRow row) { value = value * rescale[row] + sum[row]; });
    state.highest = highest;
    state.context.each(warp, [&](float& x, TileRow row, int) { x *= rescale[row]; });
    state.context.template multiply<T, keys_at_once>(warp, weights, s.values[0], ld, scratch);
  }

  static LINFORMER_DEVICE float exp2_approximate(float x) {
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
