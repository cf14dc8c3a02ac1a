// The arena: which buffers a program has, what their sizes are made of, and where they lie.
#pragma once

#include <cstdint>

#include "base/count.h"
#include "linformer/version.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

// The numbers that sizes are products of.
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
inline constexpr int buffer_count = static_cast<int>(BufferId::count);

struct TermInfo {
  const char* name;
  const char* meaning;
};
const TermInfo& info(Term term);

// Bytes: width x the product of the terms; where `other` is given, width x the larger of the two products. Where each
// thread has a part, that and `apart` bytes behind it, times `threads`.
struct BufferInfo {
  const char* name;
  uint64_t element_bytes;
  Term factors[2];
  Term other = Term::none;
  Term ld = Term::none;  // the term that is its leading dimension: all views of a `rows` or `block` buffer share it
  bool each_thread = false;
};
const BufferInfo& info(BufferId buffer);

// A buffer's formula, e.g. "4 x rows x d_row".
struct FormulaText {
  char text[64];
};

struct ArenaLayout {
  uint64_t offsets[buffer_count] = {}, bytes[buffer_count] = {}, total = 0;
  uint64_t strides[buffer_count] = {};  // bytes from one thread's part to the next
};

// What a program asks of its arena: the values of the terms, and the buffers that it uses.
struct Arena {
  Count terms[term_count];
  bool used[buffer_count] = {};

  Count& operator[](Term term) { return terms[static_cast<int>(term)]; }
  const Count& operator[](Term term) const { return terms[static_cast<int>(term)]; }
  void widen(Term term, Count value) { (*this)[term] = larger((*this)[term], value); }
  void use(BufferId buffer) { used[static_cast<int>(buffer)] = true; }
  bool uses(BufferId buffer) const { return used[static_cast<int>(buffer)]; }
  // A term whose value fits; 0 otherwise, and lay_out() is false.
  int64_t value(Term term) const;
  FormulaText formula(BufferId buffer) const;
  // False where a size doesn't fit into an address space of 2^47 bytes.
  [[nodiscard]] bool lay_out(ArenaLayout* layout) const;
};

}  // namespace LINFORMER_NAMESPACE
