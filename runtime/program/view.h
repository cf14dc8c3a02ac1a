// Names of matrices: what an op reads and writes, before anything has an address.
#pragma once

#include <cstdint>

#include "base/matrix.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Where the elements of a view are.
enum class Place : uint8_t {
  none,      // there is no such operand
  weight,    // a tensor of the model
  rows,      // a buffer with one row for each packed row of the batch
  source,    // the rows that a layer's keys and values are made of: packed rows, or encoder states
  sequence,  // a buffer with one slot for each sequence
  key_rows,  // a buffer with a row for each source row; each sequence's begin at a multiple of the panel width
  block,     // a buffer of a thread's own: one row for each row of the block that it works on
  scored,    // a buffer with one row for each row of scores, or for each sequence
  table,     // a buffer that is filled once for a session
  output,    // the caller's memory
};

// The buffers of an arena, in the order in which they lie there.
enum class BufferId : uint8_t {
  row_starts,    // first packed row of each sequence, and first row of its outputs
  ids,           // of each packed row: its token; or the number of its vector, -1 = the prefix
  positions,     // of each packed row: its row of the position table
  types,         // of each packed row: token type
  masks,         // of each packed row: mask_row, mask_query
  state_starts,  // as row_starts, for the encoder states
  state_masks,   // as masks
  encoder_states,
  position_table,    // sinusoidal positions
  rotary_table,      // sine and cosine of rotary positions
  projection_table,  // panels of E^T and E, for short sequences
  rows,              // X
  second_rows,       // the second stream of a reversible model
  normalized,        // norm(X), pre-norm models only
  first_rows,        // of each sequence its first row of X: all that the last layer makes where nothing else is read
  first_second_rows,
  first_normalized,
  compressed_key,  // E Z or Z W of each sequence; later its packed K^T
  compressed_value,
  keys,
  values,
  keys_beside,  // the compressed keys and values of each sequence that stand beside those of a window
  values_beside,
  packed_keys_beside,  // the same as panels of K^T and V
  packed_values_beside,
  query,    // Q of a block; the context takes its place head by head
  scores,   // one head's scores of a block
  softmax,  // full attention: one head's context, then row_max, row_sum and rescale of each row
  ffn,
  narrow_rows,    // a block of rows as a product in bf16 or int8 reads it
  narrow_hidden,  // the same of a slice of the feed-forward network's inner width
  scratch,        // the GEMM provider's
  pooled,
  paired,  // a head's input: normalized, or made of two sequences
  head,    // a head's dense output
  logits,
  count
};

// A matrix of `rows` x `cols` elements. rows = 0: as many as the stage's item has. Widths of `rows` and `block`
// buffers, and so their leading dimensions, are known when all of a program is lowered; a source's, when it runs.
struct View {
  Place place = Place::none;
  ElementType type = ElementType::f32;
  RightLayout layout = RightLayout::row_major;
  BufferId buffer = BufferId::count;
  int32_t tensor = -1;
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;
  int64_t offset = 0;  // elements: from the row's first, or from the slot's
  bool present() const { return place != Place::none; }
};

inline constexpr uint8_t mask_row = 1, mask_query = 2;

}  // namespace LINFORMER_NAMESPACE
