// The sequences of a call as an executor reads them, packed one after the other without padding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/matrix.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct Batch {
  int64_t sequences = 0, rows = 0;
  bool has_masks = false, has_states = false;
  const int32_t* row_starts = nullptr;  // [sequences + 1]: the first packed row of each sequence.
  // [sequences + 1]: the first row of each sequence in the caller's output. If the output has more rows than the
  // sequence has packed rows, the executor sets the last ones to zero.
  const int32_t* output_starts = nullptr;
  const int32_t* ids = nullptr;           // [rows]
  const int32_t* positions = nullptr;     // [rows]
  const uint8_t* types = nullptr;         // [rows]
  const uint8_t* masks = nullptr;         // [rows]
  const int32_t* state_starts = nullptr;  // [sequences + 1]: the first row of each sequence's encoder states.
  const uint8_t* state_masks = nullptr;   // One for each row of encoder states.
  // Returns the vectors of a sequence that the caller passed instead of tokens.
  const float* (*vectors)(const void* inputs, int64_t sequence) = nullptr;
  const void* inputs = nullptr;

  int64_t length(int64_t sequence) const { return row_starts[sequence + 1] - row_starts[sequence]; }
  // Returns the index of the sequence that the packed row `row` belongs to.
  int64_t sequence_of(int64_t row) const {
    return std::upper_bound(row_starts, row_starts + sequences, row) - row_starts - 1;
  }
};

}  // namespace LINFORMER_NAMESPACE
