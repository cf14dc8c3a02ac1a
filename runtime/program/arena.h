// The arena of a program: which buffers the program uses, the terms whose products are their sizes (buffers.h), and
// where the buffers lie.
#pragma once

#include <cstdint>

#include "base/count.h"
#include "linformer/version.h"
#include "program/buffers.h"

namespace LINFORMER_NAMESPACE {

// The formula of a buffer's size in bytes, for example "4 x rows x d_row".
struct FormulaText {
  char text[64];
};

// Where each buffer lies in the arena. All members are in bytes, and the arrays are indexed by BufferId.
struct ArenaLayout {
  uint64_t offsets[buffer_count] = {}, bytes[buffer_count] = {}, total = 0;
  uint64_t strides[buffer_count] = {};  // The distance from one thread's part of a buffer to the next thread's.
};

// The requirements of a program on its arena: the values of the terms, and the buffers that it uses.
struct Arena {
  Count terms[term_count];
  bool used[buffer_count] = {};

  Count& operator[](Term term) { return terms[static_cast<int>(term)]; }
  const Count& operator[](Term term) const { return terms[static_cast<int>(term)]; }
  void set_at_least(Term term, Count value) { (*this)[term] = larger((*this)[term], value); }
  void use(BufferId buffer) { used[static_cast<int>(buffer)] = true; }
  bool uses(BufferId buffer) const { return used[static_cast<int>(buffer)]; }
  // Returns the value of a term. If it overflows an int64_t, returns 0. lay_out() returns false if a term has
  // overflowed.
  int64_t value(Term term) const;
  FormulaText formula(BufferId buffer) const;
  // Computes the offsets and sizes of the buffers. Returns false if a size overflows or the arena doesn't fit into an
  // address space of 2^47 bytes.
  [[nodiscard]] bool lay_out(ArenaLayout* layout) const;
};

}  // namespace LINFORMER_NAMESPACE
