// The steps of a program: ops over views, in stages that say what they loop over.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "linformer/version.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

enum class OpKind : uint8_t {
  gather,            // out[r] = a[token of r] * scale
  add_position,      // out[r] += a[position of r]
  add_type,          // out[r] += a[token type of r]
  read_vectors,      // out[r] = the caller's vector of r; zero for the prefix
  put_prefix,        // out[r] = a[0] where r is the prefix
  zero,              // out[r] = 0, for the rows that `which` names
  copy,              // out = a
  convert,           // out = a rounded to bf16, or to int8 with a scale for each row and slice
  add,               // out += a
  norm,              // out = layer norm of a: b is its scale
  gemm,              // out = activation(a b + row_bias + bias) + residual
  add_row_sums,      // out[j] += (sum of the first n elements of a[j]) * bias
  scale_by_length,   // out[j] *= what the length makes of row j of a (LengthScale)
  activate,          // out = activation(out)
  gate,              // out = activation(first half of a) * second half
  rotate,            // out, a block of queries or keys: rotary positions
  compress,          // a head's keys or values from its columns of Z W: linear, convolution or pooling
  pack,              // K^T and V of one head of a sequence, as panels
  pack_rows,         // (Z W)^T and Z W of one head of a short sequence, as panels
  pack_block,        // K^T and V of a block of rows as panels, full attention
  attend,            // out = softmax(out K^T) V, head by head; of `a` in the place of out, if there is one
  select,            // out[i] = the row of the caller's masked position i
  pool,              // out[s] = the rows of sequence s as one: of `b`, where only first rows were made; of a table,
                     // those of its tokens
  pair,              // out[i] = (a, b, a b, a - b) of sequences 2i and 2i + 1
  expand,            // the caller's rows, of a table those of the tokens, with zeros where stripping left none
  probabilities,     // the caller's, from its logits
  normalize_length,  // out[s] /= its Euclidean length
};

const char* name_of(OpKind kind);

enum class ZeroRows : uint8_t { all, pads, masked };

struct Op {
  OpKind kind = OpKind::copy;
  Activation activation = Activation::none;
  ZeroRows which = ZeroRows::all;
  Pooling pooling = Pooling::first_token;
  bool softmax = false;           // probabilities: else by `activation`
  bool pooling_is_asked = false;  // pool: the caller says which
  float scale = 1.f;              // gather
  float epsilon = 0;              // norm
  int32_t side = 0;               // compress: of keys (0) or values (1)
  bool accumulate = false;        // gemm: out += a b
  LengthScale length_scale = LengthScale::none;
  int64_t first_k = 0, first_n = 0;  // gemm: the part of the weight b that is multiplied begins here
  View a, b, out, bias, row_bias, residual;
};

inline bool multiplies_weights(const Op& op) {
  return op.kind == OpKind::gemm && op.b.place == Place::weight && op.b.layout == RightLayout::panel16;
}

// Below it a norm counts as this much, as masked-linformer has it.
inline constexpr double least_norm = 1e-8;

// What a stage loops over. Items of one stage may run in any order and at once.
enum class Domain : uint8_t {
  row_blocks,       // blocks of packed rows, across sequences
  source_rows,      // blocks of the rows that a sequence's keys are made of
  source_columns,   // column chunks of E Z of a sequence
  compressed_rows,  // blocks of the k rows of a sequence's keys
  key_heads,        // heads of a sequence's keys
  first_rows,       // blocks of sequences, of which each has one row: its first
  scored,           // blocks of rows of scores
  sequences,
  positions,  // blocks of the caller's masked positions
};

// Which sequences a stage is for, by the number of rows that their keys are made of: by default all.
struct Lengths {
  int64_t from = 0, below = INT64_MAX;
  bool has(int64_t rows) const { return rows >= from && rows < below; }
  bool all() const { return from == 0 && below == INT64_MAX; }
};

struct Stage {
  Domain domain = Domain::row_blocks;
  Lengths lengths;
  bool joins = false;      // runs at once with the stage before it: neither reads what the other writes
  int64_t extent = 0;      // source_columns: columns; compressed_rows: rows; key_heads: heads; scored:
                           // sequences that a row of scores is for, 0: a packed row
  int32_t attention = -1;  // index of the layer's attention, for domains that are about keys
  int32_t op_begin = 0, op_end = 0;
};

// One head's way from its columns of Z W to its keys or values.
struct HeadProjection {
  ProjectionKind kind = ProjectionKind::none;
  LengthScale length_scale = LengthScale::none;
  int64_t k = 0, kernel = 0, stride = 0;
  View weight, row_bias, bias;
  // Compressed rows of a sequence of n rows.
  int64_t rows_of(int64_t n) const {
    if (kind == ProjectionKind::linear) return k;
    return n < kernel ? 1 : (n - kernel) / stride + 1;
  }
};

// Heads that see the same keys and values: one query head, or all of them when there is one key/value head.
struct KeyGroup {
  int64_t k = 0;              // compressed rows of a sequence of N rows; 0: full attention
  int64_t column = 0;         // of Z W
  int64_t key_offset = 0;     // of its K and V in a sequence's slot, elements
  int64_t panels_offset = 0;  // of its panels in a compressed slot, elements
  HeadProjection projections[2];
};

struct Attention {
  bool full = false;     // no compression: keys in blocks of rows, with an online softmax
  bool by_head = false;  // each group has projections of its own, and K and V of its own width
  bool value_is_key = false, causal = false, excludes_masked = false, zeroes_masked = false;
  KeySource key_source = KeySource::own;
  View own;  // packed rows that keys are made of where they are no encoder states
  int64_t heads = 0, d_head = 0;
  int64_t key_width = 0;                   // of Z W
  int64_t key_ld = 0;                      // of K and V in a slot
  float scale = 0;                         // on the scores
  ElementType compute = ElementType::f32;  // of scores and context: f32 or bf16
  int32_t first_group = 0, groups = 0;
  int64_t window = 0;  // full: |i - j| at most this; 0: all
  View position_bias;  // full: [heads, 2N - 1], column j - i + N - 1
  // Sequences of fewer rows than this are short: their scores are compressed instead of their keys, by panels in the
  // projection table. 0: there are none.
  int64_t short_below = 0;
  int64_t short_rows = 0;      // the longest of them, in this program
  int64_t short_panels = 0;    // of one head's (Z W)^T or Z W in a slot of keys, elements
  int64_t tables[2] = {0, 0};  // E^T of keys and E of values, elements
};

struct Section {  // of stages
  int32_t begin = 0, end = 0;
};

}  // namespace LINFORMER_NAMESPACE
