// The stages of a program, which say what ops loop over and for which sequences. cpu/items.cc and cuda/executor.cc
// divide a stage into items.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "linformer/version.h"
#include "program/key_groups.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

// The domain of a stage, which its ops loop over. Items of one stage may run in any order and at the same time.
enum class Domain : uint8_t {
  row_blocks,       // Blocks of packed rows, which may belong to several sequences.
  source_rows,      // Blocks of the rows that a sequence's keys are computed from.
  source_columns,   // Chunks of the columns of a sequence's E Z.
  compressed_rows,  // Blocks of the k rows of a sequence's compressed keys.
  key_heads,        // The groups of heads of a sequence's keys.
  first_rows,       // Blocks of the first rows of sequences, one row for each sequence.
  scored,           // Blocks of rows of scores or of pooled vectors.
  sequences,        // The sequences of a call.
  positions,        // Blocks of the masked positions that the caller asked for.
};

// The lengths of the sequences that a stage runs for. Here, a sequence's length is the number of rows that its keys are
// computed from. By default a stage runs for all lengths.
struct Lengths {
  int64_t from = 0, below = INT64_MAX;
  bool has(int64_t rows) const { return rows >= from && rows < below; }
  bool all() const { return from == 0 && below == INT64_MAX; }
};

// The rows that keys and values are computed from. They are the layer's own rows or the encoder states.
struct KeyRows {
  KeySource source = KeySource::own;
  View own;  // The packed rows, which are read if reads_states() returns false.

  bool reads_states(bool has_states) const {
    return source == KeySource::encoder_states || (source == KeySource::encoder_states_or_own && has_states);
  }
};

// A list of ops that run one after the other on each item of a domain.
struct Stage {
  Domain domain = Domain::row_blocks;
  Lengths lengths;
  // Whether it runs at the same time as the stage before it. Neither of the two reads what the other writes.
  bool joins = false;
  // The size of the domain: the columns in source_columns, the rows in compressed_rows, the groups in key_heads. In
  // `first_rows` and `scored`: how many sequences share a row of scores (1, or 2 for a head on pairs), or 0 if each
  // packed row has its own scores.
  int64_t extent = 0;
  RowsBeside beside;        // In compressed_rows: which of the `extent` rows a sequence has. If beside.k is 0, all.
  KeyRows key_rows;         // The rows that the layer's keys are computed from, for domains and ops that need them.
  bool whole_keys = false;  // In source_rows: whether the layer has a key for each row that its keys are computed from.
  int32_t op_begin = 0, op_end = 0;

  // Returns the number of compressed rows of a sequence whose keys are computed from `source_rows` rows.
  int64_t compressed_row_count(int64_t source_rows) const {
    return beside.k > 0 ? beside.visible_rows(source_rows) : extent;
  }
};

// The stages [begin, end) of a program.
struct Section {
  int32_t begin = 0, end = 0;
};

// The most stages that run at the same time: a stage and those that join it.
inline constexpr int32_t most_joined = 4;

const char* name_of(Domain domain);

// Returns whether the items of the domain are blocks of independent rows, which may belong to several sequences.
bool has_row_blocks(Domain domain);

// Returns the number of rows that the stage computes for one sequence of `rows` rows, if its keys are computed from
// `source_rows` rows and the caller asks for `positions` masked positions. In source_columns and key_heads, returns the
// stage's extent. A head on pairs computes one row of scores for two sequences, so each sequence counts half a row.
double rows_for_sequence(const Stage& stage, int64_t rows, int64_t source_rows, int64_t positions);

}  // namespace LINFORMER_NAMESPACE
