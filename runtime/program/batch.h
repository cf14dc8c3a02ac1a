// The sequences of a call, packed one after the other without padding: what an executor runs on.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/matrix.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct Batch {
  int64_t sequences = 0, rows = 0;
  bool has_masks = false, has_states = false;
  const int32_t* row_starts = nullptr;     // [sequences + 1]: first packed row
  const int32_t* output_starts = nullptr;  // [sequences + 1]: first row of the caller's; those without a row are zero
  const int32_t* ids = nullptr;            // [rows]
  const int32_t* positions = nullptr;      // [rows]
  const uint8_t* types = nullptr;          // [rows]
  const uint8_t* masks = nullptr;          // [rows]
  const int32_t* state_starts = nullptr;   // [sequences + 1]
  const uint8_t* state_masks = nullptr;
  // The caller's vectors of a sequence.
  const float* (*vectors)(const void* inputs, int64_t sequence) = nullptr;
  const void* inputs = nullptr;

  int64_t length(int64_t sequence) const { return row_starts[sequence + 1] - row_starts[sequence]; }
  // The sequence that packed row `row` belongs to.
  int64_t sequence_of(int64_t row) const {
    return std::upper_bound(row_starts, row_starts + sequences, row) - row_starts - 1;
  }
};

}  // namespace LINFORMER_NAMESPACE
