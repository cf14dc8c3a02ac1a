// The arena of a program: the buffers that the program uses, the values of the terms of their sizes, and their offsets.
#pragma once

#include <cstdint>

#include "base/count.h"
#include "linformer/version.h"
#include "program/buffers.h"

namespace LINFORMER_NAMESPACE {

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
