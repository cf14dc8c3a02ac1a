// The buffers of an arena, and the terms of their sizes: the size of a buffer is a product of terms, such as
// rows x d_row. Each new buffer or term needs an enumerator and a row of a table, both in this file.
#pragma once

#include <cstdint>
#include <iterator>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The factors of buffers' sizes.
enum class Term : uint8_t {
  none,
  sequences,
  starts,
  rows,
  states,
  threads,
  apart,
  block,
  queries,
  d_row,
  d_query,
  d_scores,
  d_softmax,
  d_ffn,
  d_narrow,
  d_narrow_hidden,
  d_states,
  d_position,
  positions,
  rotary,
  projection,
  compressed,
  keys,
  beside,
  panels,
  full,
  scratch,
  d_pooled,
  scored,
  d_paired,
  d_inner,
  classes,
  count
};
inline constexpr int term_count = static_cast<int>(Term::count);

struct TermInfo {
  Term term;
  const char* name;
  const char* meaning;
};
inline constexpr TermInfo terms[] = {
    {Term::none, "", ""},
    {Term::sequences, "b", "sequences in one call"},
    {Term::starts, "starts", "b + 1"},
    {Term::rows, "rows", "tokens in one call, all sequences together"},
    {Term::states, "states", "rows of encoder states in one call: b x m (cross attention)"},
    {Term::threads, "threads", "threads of the session"},
    {Term::apart, "apart",
     "bytes behind each thread's part, so that no page of 4096 bytes belongs to two; 0 of one thread"},
    {Term::block, "block", "rows that a thread takes through a layer at once: 128, or all where there are fewer"},
    {Term::queries, "queries",
     "rows of scores that a thread makes at once: block, or up to 32 where all attention is full"},
    {Term::d_row, "d_row", "d_model, or the widest row between two layers"},
    {Term::d_query, "d_query", "D = heads x d_head, or what else a block holds there, if that is more"},
    {Term::d_scores, "d_scores",
     "k of a head, and a column for each row of a short text; or up to 512 keys where attention is full or has a "
     "window; multiples of 16"},
    {Term::d_softmax, "d_softmax", "d_head as a multiple of 16, and 3 (full attention)"},
    {Term::d_ffn, "d_ffn", "the feed-forward network's inner width, or what else a block holds there, if that is more"},
    {Term::d_narrow, "d_narrow",
     "bytes of a row that products in bf16 or int8 read: its elements, and of int8 their scales"},
    {Term::d_narrow_hidden, "d_narrow_ffn", "the same of a slice of the feed-forward network's inner width"},
    {Term::d_states, "d_states", "width of a row of encoder states"},
    {Term::d_position, "d_position", "width of a computed position"},
    {Term::positions, "positions", "computed positions: n, and one for pads that are not counted"},
    {Term::rotary, "rotary", "n x d_head for each rotary base: sines and cosines"},
    {Term::projection, "projection", "panels of E^T and E, of the columns that short texts have rows for; each E once"},
    {Term::compressed, "compressed",
     "of a sequence: k d, k D, panels of K^T and V, or D for each row where E (Z W) is cheaper; the largest"},
    {Term::keys, "keys",
     "of a sequence: k D, the heads' own k where they differ, or panels of X W of a short text; the largest"},
    {Term::beside, "beside",
     "of a sequence: k D of compressed keys beside a window, or panels of their K^T and V; the larger"},
    {Term::panels, "panels",
     "rows x D where attention is full or has a window, a sequence's rows and a head's columns in multiples of 16"},
    {Term::full, "full", "rows x D where attention is full or has a window, a sequence's rows in multiples of 16"},
    {Term::scratch, "scratch",
     "bytes that the GEMM provider asks for each thread; on a GPU what products and outputs need beside the rest"},
    {Term::d_pooled, "d_pooled", "width of the encoder's output"},
    {Term::scored, "scored", "b, or rows where a head scores each token"},
    {Term::d_paired, "d_paired", "input of a head with a norm, or of one on pairs"},
    {Term::d_inner, "d_inner", "inner width of a classification head"},
    {Term::classes, "classes", "classes of the head that has most (heads that score each token)"},
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

inline constexpr int buffer_count = static_cast<int>(BufferId::count);

// Bytes: width x the product of the terms; where `other` is given, width x the larger of the two products. Where each
// thread has a part, that and `apart` bytes behind it, times `threads`.
struct BufferInfo {
  BufferId buffer;
  const char* name;
  uint64_t element_bytes;
  Term factors[2];
  Term ld = Term::none;  // the term that is its leading dimension: all views of a `rows` or `block` buffer share it
  bool each_thread = false;
  Term other = Term::none;
};
inline constexpr BufferInfo buffers[] = {
    {BufferId::row_starts, "row starts", 8, {Term::starts}},
    {BufferId::ids, "token ids", 4, {Term::rows}},
    {BufferId::positions, "position rows", 4, {Term::rows}},
    {BufferId::types, "token types", 1, {Term::rows}},
    {BufferId::masks, "masks", 1, {Term::rows}},
    {BufferId::state_starts, "encoder state starts", 4, {Term::starts}},
    {BufferId::state_masks, "encoder state masks", 1, {Term::states}},
    {BufferId::encoder_states, "encoder states", 4, {Term::states, Term::d_states}, Term::d_states},
    {BufferId::position_table, "position table", 4, {Term::positions, Term::d_position}, Term::d_position},
    {BufferId::rotary_table, "rotary table", 4, {Term::rotary}},
    {BufferId::projection_table, "projection table", 4, {Term::projection}},
    {BufferId::rows, "rows", 4, {Term::rows, Term::d_row}, Term::d_row},
    {BufferId::second_rows, "second rows", 4, {Term::rows, Term::d_row}, Term::d_row},
    {BufferId::normalized, "normalized rows", 4, {Term::rows, Term::d_row}, Term::d_row},
    {BufferId::first_rows, "first rows", 4, {Term::sequences, Term::d_row}, Term::d_row},
    {BufferId::first_second_rows, "first second rows", 4, {Term::sequences, Term::d_row}, Term::d_row},
    {BufferId::first_normalized, "first normalized rows", 4, {Term::sequences, Term::d_row}, Term::d_row},
    {BufferId::compressed_key,
     "compressed keys",
     4,
     {Term::sequences, Term::compressed},
     Term::none,
     false,
     Term::panels},
    {BufferId::compressed_value,
     "compressed values",
     4,
     {Term::sequences, Term::compressed},
     Term::none,
     false,
     Term::panels},
    {BufferId::keys, "keys", 4, {Term::sequences, Term::keys}, Term::none, false, Term::full},
    {BufferId::values, "values", 4, {Term::sequences, Term::keys}, Term::none, false, Term::full},
    {BufferId::keys_beside, "keys beside a window", 4, {Term::sequences, Term::beside}},
    {BufferId::values_beside, "values beside a window", 4, {Term::sequences, Term::beside}},
    {BufferId::packed_keys_beside, "packed keys beside a window", 4, {Term::sequences, Term::beside}},
    {BufferId::packed_values_beside, "packed values beside a window", 4, {Term::sequences, Term::beside}},
    {BufferId::query, "query and context", 4, {Term::block, Term::d_query}, Term::d_query, true},
    {BufferId::scores, "scores", 4, {Term::queries, Term::d_scores}, Term::d_scores, true},
    {BufferId::softmax, "online softmax", 4, {Term::block, Term::d_softmax}, Term::d_softmax, true},
    {BufferId::ffn, "feed-forward", 4, {Term::block, Term::d_ffn}, Term::d_ffn, true},
    {BufferId::narrow_rows, "narrow rows", 1, {Term::block, Term::d_narrow}, Term::d_narrow, true},
    {BufferId::narrow_hidden,
     "narrow feed-forward",
     1,
     {Term::block, Term::d_narrow_hidden},
     Term::d_narrow_hidden,
     true},
    {BufferId::scratch, "scratch", 1, {Term::scratch}, Term::none, true},
    {BufferId::pooled, "pooled", 4, {Term::sequences, Term::d_pooled}, Term::d_pooled},
    {BufferId::paired, "head input", 4, {Term::scored, Term::d_paired}, Term::d_paired},
    {BufferId::head, "head dense", 4, {Term::scored, Term::d_inner}, Term::d_inner},
    {BufferId::logits, "logits", 4, {Term::scored, Term::classes}, Term::classes},
};

// Returns whether both tables have one row for each enumerator, in the order of the enumerators.
consteval bool in_order() {
  if (std::size(terms) != term_count || std::size(buffers) != buffer_count) return false;
  for (int i = 0; i < term_count; ++i) {
    if (static_cast<int>(terms[i].term) != i) return false;
  }
  for (int i = 0; i < buffer_count; ++i) {
    if (static_cast<int>(buffers[i].buffer) != i) return false;
  }
  return true;
}
static_assert(in_order());

inline const TermInfo& info(Term term) { return terms[static_cast<int>(term)]; }
inline const BufferInfo& info(BufferId buffer) { return buffers[static_cast<int>(buffer)]; }

}  // namespace LINFORMER_NAMESPACE
