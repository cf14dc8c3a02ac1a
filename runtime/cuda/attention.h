// out = softmax(scale Q K^T) V, head by head, with a running softmax: Milakov and Gimelshein 2018; Dao et al. 2022 for
// the blocks. Linformer is the case of k keys, full attention that of n. Nothing of heads x n x k exists.
#pragma once

#include <cmath>

#include "cuda/tile.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cuda {

// Where a head's keys and values lie and how many there are.
struct HeadKeys {
  int64_t offset = 0;  // of the head's first element in a sequence's slot
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
  const HeadKeys* heads = nullptr;       // [heads]
  const int32_t* starts = nullptr;       // [sequences + 1]: first query row
  const int32_t* sources = nullptr;      // [sequences + 1]: of the rows that keys are made of
  const uint8_t* masks = nullptr;        // of queries, or null
  const uint8_t* key_masks = nullptr;    // of keys, where masked ones are excluded
  const float* position_bias = nullptr;  // [heads, bias_ld], at its middle: key - query = 0
  int64_t bias_ld = 0, window = 0;
  int d_head = 0;
  int sequences = 0;
  float scale = 0;
  bool causal = false;
  bool first_only = false;  // a sequence has one query, of its first row: the sequence-th of `query`
};

template <class T, int depth>
struct AttentionKernel {
  // As many as fit into the 64 KB of sm_75.
  static constexpr bool wide = sizeof(T) == 4;
  static constexpr int rows = depth > 128 ? 16 : depth > 64 || wide ? 32 : 64;
  static constexpr int keys_at_once = wide && depth > 128 ? 16 : 32;
  static constexpr int threads = rows / tile_side * warp_size;
  static constexpr int ld = depth + 8, score_ld = keys_at_once + 8, half = keys_at_once / 2;
  static constexpr float lowest = -3e38f;
  struct Shared {
    alignas(32) T query[rows][ld];
    alignas(32) T keys[keys_at_once][ld];  // then values
    alignas(32) T shares[rows][score_ld];
    alignas(32) float scores[rows][score_ld];
    alignas(32) float context[rows][ld];
    float row_max[rows], row_sum[rows];
    float parts[2 * rows], sums[2 * rows];  // of half a row's keys
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
    const HeadKeys keys = p.heads[head];
    const int64_t count = keys.window > 0
                              ? (source_rows < keys.window ? 1 : (source_rows - keys.window) / keys.stride + 1)
                          : keys.count > 0 ? keys.count
                                           : source_rows;
    const int64_t place = (p.by_rows ? source : int64_t{sequence}) * p.slot + keys.offset;
    const int here = static_cast<int>(n - first_row < rows ? n - first_row : rows);
    const int64_t column = static_cast<int64_t>(head) * p.d_head;
    const float* query = p.query + (begin + first_row) * p.query_ld + column;
    T* context = static_cast<T*>(p.context) + (begin + first_row) * p.context_ld + column;
    block.each([&](int thread) {
      for (int i = thread; i < rows * depth; i += threads) {
        const int r = i / depth, c = i % depth;
        const bool zero =
            r >= here || c >= p.d_head || (p.masks != nullptr && (p.masks[start + first_row + r] & 2) != 0);
        narrow(zero ? 0.f : query[r * p.query_ld + c], &s.query[r][c]);
        s.context[r][c] = 0;
      }
      for (int r = thread; r < rows; r += threads) {
        s.row_max[r] = lowest;
        s.row_sum[r] = 0;
      }
    });
    // Keys that none of these rows sees are left out.
    int64_t seen = count, first_seen = 0;
    if (p.causal && first_row + here < seen) seen = first_row + here;
    if (p.window > 0) {
      if (first_row + here + p.window < seen) seen = first_row + here + p.window;
      if (first_row > p.window) first_seen = (first_row - p.window) / keys_at_once * keys_at_once;
    }
    for (int64_t first = first_seen; first < seen; first += keys_at_once) {
      const int64_t left = count - first;
      load(block, s, p.keys + place + first * p.key_ld, left);
      block.each_warp([&](Warp& warp) { score(warp, s, head, first_row, here, first, left, source); });
      load(block, s, p.values + place + first * p.key_ld, left);
      block.each_warp([&](Warp& warp) {
        const int row = warp.index() * tile_side;
        for (int c = 0; c < depth; c += tile_side) {
          TileSums<T> sums;
          sums.load(warp, &s.context[row][c], ld);
          for (int j = 0; j < keys_at_once; j += tile_side) {
            sums.template multiply<false>(warp, &s.shares[row][j], score_ld, &s.keys[j][c], ld);
          }
          sums.store(warp, &s.context[row][c], ld);
        }
      });
    }
    block.each([&](int thread) {
      for (int i = thread; i < here * p.d_head; i += threads) {
        const int r = i / p.d_head, c = i % p.d_head;
        narrow(s.context[r][c] / s.row_sum[r], context + r * p.context_ld + c);
      }
    });
  }

  // Blocks for so many rows in so many sequences: each sequence has enough, and one more at most.
  static int64_t blocks(int64_t all_rows, int64_t all_sequences) { return all_rows / rows + all_sequences; }

 private:
  LINFORMER_DEVICE int64_t first_block(int sequence) const { return p.starts[sequence] / rows + sequence; }
  LINFORMER_DEVICE int sequence_of(int64_t index) const {
    int low = 0, high = p.sequences;  // the last that begins at or before it
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (first_block(middle) <= index ? low : high) = middle;
    }
    return low;
  }
  LINFORMER_DEVICE void load(Block<threads>& block, Shared& s, const float* from, int64_t left) const {
    block.each([&](int thread) {
      for (int i = thread; i < keys_at_once * depth; i += threads) {
        const int j = i / depth, c = i % depth;
        narrow(j < left && c < p.d_head ? from[j * p.key_ld + c] : 0.f, &s.keys[j][c]);
      }
    });
  }

  // What is added after scaling is divided by the scale first. Keys out of a query's reach count less than masked
  // ones, so that where all are masked the blocks that were left out make no difference.
  LINFORMER_DEVICE float masked(float score, int head, int64_t row, int64_t key, int64_t source) const {
    if (p.key_masks != nullptr && (p.key_masks[source + key] & 1) != 0) score = -1e30f;
    if (p.position_bias != nullptr) score += p.position_bias[head * p.bias_ld + key - row] / p.scale;
    const bool reaches =
        (!p.causal || key <= row) && (p.window == 0 || (key >= row - p.window && key <= row + p.window));
    return reaches ? score * p.scale : -2e30f * p.scale;
  }

  // A warp's 16 rows by 32 keys: scores, their softmax's next step, and what earlier keys gave by its new maximum.
  LINFORMER_DEVICE void score(Warp& warp, Shared& s, int head, int64_t first_row, int rows_here, int64_t first,
                              int64_t left, int64_t source) const {
    const int begin = warp.index() * tile_side;
    const int here = static_cast<int>(left < keys_at_once ? left : keys_at_once);
    for (int j = 0; j < keys_at_once; j += tile_side) {
      TileSums<T> sums;
      sums.zero();
      for (int c = 0; c < depth; c += tile_side) {
        sums.template multiply<true>(warp, &s.query[begin][c], ld, &s.keys[j][c], ld);
      }
      sums.store(warp, &s.scores[begin][j], score_ld);
    }
    // Two lanes have a row, each half of its keys: from different ones on, so that no two read the same bank.
    warp.each_lane([&](int lane) {
      const int r = begin + lane / 2;
      float highest = lowest;
      for (int i = 0; i < half; ++i) {
        const int j = key_of(lane, i);
        const float x =
            j < here && r < rows_here ? masked(s.scores[r][j], head, first_row + r, first + j, source) : lowest;
        s.scores[r][j] = x;
        highest = x > highest ? x : highest;
      }
      s.parts[2 * begin + lane] = highest;
    });
    warp.each_lane([&](int lane) {
      const int r = begin + lane / 2;
      const float after = row_max_of(s, r), rescale = exponential(s.row_max[r] - after);
      float sum = 0;
      for (int i = 0; i < half; ++i) {
        const int j = key_of(lane, i);
        const float share = j < here ? exponential(s.scores[r][j] - after) : 0.f;
        narrow(share, &s.shares[r][j]);
        sum += share;
      }
      s.sums[2 * begin + lane] = sum;
      if (rescale == 1.f || s.row_max[r] == lowest) return;  // the same, or still zero
      for (int i = 0; i < depth / 2; ++i) {
        s.context[r][lane % 2 + 2 * ((i + lane / 8) & (depth / 2 - 1))] *= rescale;
      }
    });
    warp.each_lane([&](int lane) {
      if (lane >= tile_side) return;
      const int r = begin + lane;
      const float after = row_max_of(s, r), rescale = exponential(s.row_max[r] - after);
      s.row_max[r] = after;
      s.row_sum[r] = s.row_sum[r] * rescale + (s.sums[2 * r] + s.sums[2 * r + 1]);
    });
  }

  static LINFORMER_DEVICE int key_of(int lane, int i) {
    const int begin = lane / 8 * 2 + lane % 2;
    return lane % 2 * half + ((i + begin) & (half - 1));
  }
  static LINFORMER_DEVICE float row_max_of(const Shared& s, int r) {
    const float a = s.parts[2 * r], b = s.parts[2 * r + 1], highest = a > b ? a : b;
    return highest > s.row_max[r] ? highest : s.row_max[r];
  }
  static LINFORMER_DEVICE float exponential(float x) {
#if defined(__CUDACC__)
    return __expf(x);
#else
    return __builtin_expf(x);
#endif
  }
};

}  // namespace LINFORMER_NAMESPACE::cuda
