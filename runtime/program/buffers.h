// The buffers of an arena, and the terms of their sizes: the size of a buffer is a product of terms, such as
// rows x d_row. Each new buffer or term needs an enumerator and a row of a table, both in this file.
#pragma once

#include <cstdint>
#include <iterator>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The factors in the sizes of buffers. The table `terms` says what each is.
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
     "bytes after each thread's part, so that no page of 4096 bytes belongs to two threads; 0 if there is one thread"},
    {Term::block, "block", "rows that a thread takes through a layer at once: block_rows, or all if there are fewer"},
    {Term::queries, "queries",
     "rows of scores that a thread computes at once: block, or up to 32 if all attention is full"},
    {Term::d_row, "d_row", "d_model, or the widest row between two layers"},
    {Term::d_query, "d_query",
     "D = heads x d_head, or the width of other rows that share this buffer, if that is more"},
    {Term::d_scores, "d_scores",
     "k of a head plus a column for each row of a short sequence, or up to 512 keys if attention is full or has a "
     "window; in multiples of 16"},
    {Term::d_softmax, "d_softmax", "d_head as a multiple of 16, plus 3 (full attention)"},
    {Term::d_ffn, "d_ffn",
     "the feed-forward network's inner width, or the width of other rows that share this buffer, if that is more"},
    {Term::d_narrow, "d_narrow",
     "bytes of a row that products in bf16 or int8 read: its elements and, in int8, their scales"},
    {Term::d_narrow_hidden, "d_narrow_ffn",
     "bytes of a row of a slice of the feed-forward network's inner width, in bf16 or int8"},
    {Term::d_states, "d_states", "width of a row of encoder states"},
    {Term::d_position, "d_position", "width of a computed position"},
    {Term::positions, "positions", "computed positions: n, plus one if pads have a position of their own"},
    {Term::rotary, "rotary", "n x d_head for each rotary base: sines and cosines"},
    {Term::projection, "projection",
     "elements of the panels of E^T and E for short sequences, with as many columns of E as these have rows; each E "
     "once"},
    {Term::compressed, "compressed",
     "for each sequence the largest of k d, k D, panels of K^T and V, and D for each row if E (Z W) is cheaper"},
    {Term::keys, "keys",
     "for each sequence the largest of k D, d_head x the sum of the heads' k if they differ, and panels of Z W of a "
     "short sequence"},
    {Term::beside, "beside",
     "for each sequence the larger of k D for compressed keys beside a window and the panels of their K^T and V"},
    {Term::panels, "panels",
     "rows x D if attention is full or has a window, a sequence's rows and a head's columns in multiples of 16"},
    {Term::full, "full", "rows x D if attention is full or has a window, a sequence's rows in multiples of 16"},
    {Term::scratch, "scratch",
     "bytes that the GEMM provider needs for each thread; on a GPU, bytes that products and outputs need in addition"},
    {Term::d_pooled, "d_pooled", "width of the encoder's output"},
    {Term::scored, "scored", "b, or rows if a head scores each token"},
    {Term::d_paired, "d_paired", "input width of a head with a norm, or of a head on pairs"},
    {Term::d_inner, "d_inner", "inner width of a classification head"},
    {Term::classes, "classes", "the most classes of a head (heads that score each token)"},
};

// The buffers of an arena, in the order in which they lie there. X are the rows of a model, Z the rows that keys and
// values are computed from, W the weight of keys or values, E the projection that compresses them, Q the queries, K the
// keys and V the values.
enum class BufferId : uint8_t {
  row_starts,    // The first packed row of each sequence, and the first row of its outputs.
  ids,           // The token of each packed row, or the index of the caller's vector, or -1 for the prefix.
  positions,     // The row of the position table that each packed row reads.
  types,         // The token type of each packed row.
  masks,         // The flags mask_row and mask_query of each packed row.
  state_starts,  // The first row of each sequence's encoder states.
  state_masks,   // The flag mask_row of each row of encoder states.
  encoder_states,
  position_table,    // Sinusoidal positions.
  rotary_table,      // The sines and cosines of rotary positions.
  projection_table,  // Panels of E^T and E, for short sequences.
  rows,              // X
  second_rows,       // The second stream of a reversible model.
  normalized,        // norm(X), in pre-norm models only.
  // The first row of X of each sequence. If a call's outputs read no other rows, the last layer computes only these.
  first_rows,
  first_second_rows,
  first_normalized,
  compressed_key,  // With compressed keys: E Z or Z W of each sequence, then packed K^T. With whole keys: packed K^T.
  compressed_value,
  keys,
  values,
  keys_beside,  // The compressed keys and values of each sequence that attention reads in addition to a window.
  values_beside,
  packed_keys_beside,  // Panels of K^T and V of these compressed keys and values.
  packed_values_beside,
  query,    // Q of a block of rows, then the context if it is f32. Other rows share the buffer.
  scores,   // The scores of one head for a block of queries.
  softmax,  // With whole keys: the context of one head, then row_max, row_sum and rescale of each row.
  ffn,
  low_precision_rows,    // A block of rows in 16 bits or int8, as the left operand of a product.
  low_precision_hidden,  // A slice of the feed-forward network's inner width, or the context, in 16 bits or int8.
  scratch,               // The scratch memory of the GEMM provider, or a device's DeviceScratch.
  pooled,
  paired,  // The input of a head: rows after its norm, or the combined rows of pairs of sequences.
  head,    // The output of a head's dense layer.
  logits,
  count
};

inline constexpr int buffer_count = static_cast<int>(BufferId::count);

// The size of a buffer in bytes is element_bytes x the product of `factors`. If `other` is given, it is element_bytes x
// the larger of that product and `other`. If each thread has a part, this is the size of a part, and the size of the
// buffer is threads x (the size of a part + apart).
struct BufferInfo {
  BufferId buffer;
  const char* name;
  uint64_t element_bytes;
  Term factors[2];
  Term ld = Term::none;  // The term that is the leading dimension, which all views of a buffer with rows share.
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
    {BufferId::low_precision_rows, "narrow rows", 1, {Term::block, Term::d_narrow}, Term::d_narrow, true},
    {BufferId::low_precision_hidden,
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
consteval bool tables_match_enums() {
  if (std::size(terms) != term_count || std::size(buffers) != buffer_count) return false;
  for (int i = 0; i < term_count; ++i) {
    if (static_cast<int>(terms[i].term) != i) return false;
  }
  for (int i = 0; i < buffer_count; ++i) {
    if (static_cast<int>(buffers[i].buffer) != i) return false;
  }
  return true;
}
static_assert(tables_match_enums());

inline const TermInfo& info(Term term) { return terms[static_cast<int>(term)]; }
inline const BufferInfo& info(BufferId buffer) { return buffers[static_cast<int>(buffer)]; }

}  // namespace LINFORMER_NAMESPACE
