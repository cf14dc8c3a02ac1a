// Names of matrices: what an op reads and writes, before anything has an address.
#pragma once

#include <cstdint>

#include "base/matrix.h"
#include "linformer/types.h"
#include "linformer/version.h"
#include "program/buffers.h"

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
