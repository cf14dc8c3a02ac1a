#include "program/arena.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace LINFORMER_NAMESPACE {
namespace {

constexpr uint64_t buffer_alignment = 64;  // bytes: a cache line, and the widest vector
constexpr uint64_t address_space = uint64_t{1} << 47;

constexpr TermInfo terms[] = {
    {"", ""},
    {"b", "sequences in one call"},
    {"starts", "b + 1"},
    {"rows", "tokens in one call, all sequences together"},
    {"states", "rows of encoder states in one call: b x m (cross attention)"},
    {"threads", "threads of the session"},
    {"apart", "bytes behind each thread's part, so that no page of 4096 bytes belongs to two; 0 of one thread"},
    {"block", "rows that a thread takes through a layer at once: 128, or all where there are fewer"},
    {"queries", "rows of scores that a thread makes at once: block, or up to 32 where all attention is full"},
    {"d_row", "d_model, or the widest row between two layers"},
    {"d_query", "D = heads x d_head, or what else a block holds there, if that is more"},
    {"d_scores",
     "k of a head, and a column for each row of a short text; or up to 512 keys where attention is full or has a "
     "window; multiples of 16"},
    {"d_softmax", "d_head as a multiple of 16, and 3 (full attention)"},
    {"d_ffn", "the feed-forward network's inner width, or what else a block holds there, if that is more"},
    {"d_narrow", "bytes of a row that products in bf16 or int8 read: its elements, and of int8 their scales"},
    {"d_narrow_ffn", "the same of a slice of the feed-forward network's inner width"},
    {"d_states", "width of a row of encoder states"},
    {"d_position", "width of a computed position"},
    {"positions", "computed positions: n, and one for pads that are not counted"},
    {"rotary", "n x d_head for each rotary base: sines and cosines"},
    {"projection", "panels of E^T and E, of the columns that short texts have rows for; each E once"},
    {"compressed",
     "of a sequence: k d, k D, panels of K^T and V, or D for each row where E (Z W) is cheaper; the largest"},
    {"keys", "of a sequence: k D, the heads' own k where they differ, or panels of X W of a short text; the largest"},
    {"beside", "of a sequence: k D of compressed keys beside a window, or panels of their K^T and V; the larger"},
    {"panels",
     "rows x D where attention is full or has a window, a sequence's rows and a head's columns in multiples of 16"},
    {"full", "rows x D where attention is full or has a window, a sequence's rows in multiples of 16"},
    {"scratch",
     "bytes that the GEMM provider asks for each thread; on a GPU what products and outputs need beside the rest"},
    {"d_pooled", "width of the encoder's output"},
    {"scored", "b, or rows where a head scores each token"},
    {"d_paired", "input of a head with a norm, or of one on pairs"},
    {"d_inner", "inner width of a classification head"},
    {"classes", "classes of the head that has most (heads that score each token)"},
};
static_assert(std::size(terms) == term_count);

using enum Term;
constexpr BufferInfo buffers[] = {
    {"row starts", 8, {starts, none}},
    {"token ids", 4, {rows, none}},
    {"position rows", 4, {rows, none}},
    {"token types", 1, {rows, none}},
    {"masks", 1, {rows, none}},
    {"encoder state starts", 4, {starts, none}},
    {"encoder state masks", 1, {states, none}},
    {"encoder states", 4, {states, d_states}, none, d_states},
    {"position table", 4, {positions, d_position}, none, d_position},
    {"rotary table", 4, {rotary, none}},
    {"projection table", 4, {projection, none}},
    {"rows", 4, {rows, d_row}, none, d_row},
    {"second rows", 4, {rows, d_row}, none, d_row},
    {"normalized rows", 4, {rows, d_row}, none, d_row},
    {"first rows", 4, {sequences, d_row}, none, d_row},
    {"first second rows", 4, {sequences, d_row}, none, d_row},
    {"first normalized rows", 4, {sequences, d_row}, none, d_row},
    {"compressed keys", 4, {sequences, compressed}, panels},
    {"compressed values", 4, {sequences, compressed}, panels},
    {"keys", 4, {sequences, keys}, full},
    {"values", 4, {sequences, keys}, full},
    {"keys beside a window", 4, {sequences, beside}},
    {"values beside a window", 4, {sequences, beside}},
    {"packed keys beside a window", 4, {sequences, beside}},
    {"packed values beside a window", 4, {sequences, beside}},
    {"query and context", 4, {block, d_query}, none, d_query, true},
    {"scores", 4, {queries, d_scores}, none, d_scores, true},
    {"online softmax", 4, {block, d_softmax}, none, d_softmax, true},
    {"feed-forward", 4, {block, d_ffn}, none, d_ffn, true},
    {"narrow rows", 1, {block, d_narrow}, none, d_narrow, true},
    {"narrow feed-forward", 1, {block, d_narrow_hidden}, none, d_narrow_hidden, true},
    {"scratch", 1, {scratch, none}, none, none, true},
    {"pooled", 4, {sequences, d_pooled}, none, d_pooled},
    {"head input", 4, {scored, d_paired}, none, d_paired},
    {"head dense", 4, {scored, d_inner}, none, d_inner},
    {"logits", 4, {scored, classes}, none, classes},
};
static_assert(std::size(buffers) == buffer_count);

}  // namespace

const TermInfo& info(Term term) { return terms[static_cast<int>(term)]; }
const BufferInfo& info(BufferId buffer) { return buffers[static_cast<int>(buffer)]; }

FormulaText Arena::formula(BufferId buffer) const {
  const BufferInfo& b = info(buffer);
  FormulaText formula{};
  char product[32] = "";
  size_t length = 0;
  for (Term factor : b.factors) {
    if (factor == none) continue;
    const int written =
        std::snprintf(product + length, sizeof product - length, "%s%s", length == 0 ? "" : " x ", info(factor).name);
    if (written > 0) length = std::min(length + static_cast<size_t>(written), sizeof product - 1);
  }
  const bool alternative = b.other != none && value(b.other) > 0;
  char width[8] = "";
  if (b.element_bytes > 1) std::snprintf(width, sizeof width, "%d x ", static_cast<int>(b.element_bytes));
  if (b.each_thread) {
    std::snprintf(formula.text, sizeof formula.text, "threads x (%s%s + apart)", width, product);
  } else {
    std::snprintf(formula.text, sizeof formula.text, "%s%s%s%s%s%s", width, alternative ? "max(" : "", product,
                  alternative ? ", " : "", alternative ? info(b.other).name : "", alternative ? ")" : "");
  }
  return formula;
}

int64_t Arena::value(Term term) const {
  uint64_t number = 0;
  if (!(*this)[term].get(&number) || number > INT64_MAX) return 0;
  return static_cast<int64_t>(number);
}

bool Arena::lay_out(ArenaLayout* layout) const {
  Count total;
  for (const Count& term : terms) {
    if (!term.valid()) return false;
  }
  for (int i = 0; i < buffer_count; ++i) {
    const BufferInfo& b = buffers[i];
    Count part, bytes;
    if (used[i]) {
      Count elements = 1;
      for (Term factor : b.factors) {
        if (factor != none) elements = elements * (*this)[factor];
      }
      if (b.other != none) elements = larger(elements, (*this)[b.other]);
      bytes = elements * Count::bytes(b.element_bytes);
      if (b.each_thread) {
        part = bytes + (*this)[apart];
        bytes = part * (*this)[threads];
      }
      bytes = bytes.rounded_up(buffer_alignment);
    }
    if (!total.get(&layout->offsets[i]) || !part.get(&layout->strides[i]) || !bytes.get(&layout->bytes[i]))
      return false;
    total = total + bytes;
  }
  return total.get(&layout->total) && layout->total < address_space;
}

}  // namespace LINFORMER_NAMESPACE
