// Views, which name the matrices that an op reads and writes before anything has an address.
#pragma once

#include <cstdint>

#include "base/matrix.h"
#include "linformer/types.h"
#include "linformer/version.h"
#include "program/buffers.h"

namespace LINFORMER_NAMESPACE {

// The place where the elements of a view lie.
enum class Place : uint8_t {
  none,      // The op has no such operand.
  weight,    // A tensor of the model.
  rows,      // A buffer with one row for each packed row of the batch.
  source,    // The rows that a layer's keys and values are computed from: packed rows, or encoder states.
  sequence,  // A buffer with one slot for each sequence.
  key_rows,  // A buffer with a row for each source row. Each sequence begins at a multiple of the panel width.
  block,     // A buffer with a part for each thread, with one row for each row of the block that the thread computes.
  // A buffer with one row for each sequence. If a head scores each token, the buffers of heads (Term::scored) have one
  // row for each packed row.
  scored,
  table,   // A buffer that is filled once for a session.
  output,  // The caller's memory.
};

// A matrix of `rows` x `cols` elements. If `rows` is 0, the number of rows is that of the stage's item. The leading
// dimensions of `rows`, `block` and `scored` buffers are set after the whole program has been lowered, because they
// depend on the widest view of the buffer. The leading dimension of a source is known when the program runs.
struct View {
  Place place = Place::none;
  ElementType type = ElementType::f32;
  RightLayout layout = RightLayout::row_major;
  BufferId buffer = BufferId::count;
  int32_t tensor = -1;
  int64_t rows = 0, cols = 0;
  int64_t ld = 0;
  int64_t offset = 0;  // In elements, from the beginning of a row, of a slot or of a table.
  bool present() const { return place != Place::none; }
};

// The flags in Batch::masks and Batch::state_masks. A row has mask_row if the caller's mask leaves it out or if it is a
// kept pad; attention, pooling and heads then skip it or set it to zero. The query of a row with mask_query is set to
// zero, but its key counts. Encoder states only have mask_row.
inline constexpr uint8_t mask_row = 1, mask_query = 2;

}  // namespace LINFORMER_NAMESPACE
