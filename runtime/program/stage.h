// The stages of a program: what ops loop over, and for which sequences. What depends on a domain is in stage.cc, and
// how an executor makes items of it in cpu/items.cc and cuda/executor.cc.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "linformer/version.h"
#include "program/key_groups.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

// What a stage loops over. Items of one stage may run in any order and at once.
enum class Domain : uint8_t {
  row_blocks,       // blocks of packed rows, across sequences
  source_rows,      // blocks of the rows that a sequence's keys are made of
  source_columns,   // column chunks of E Z of a sequence
  compressed_rows,  // blocks of the k rows of a sequence's keys
  key_heads,        // heads of a sequence's keys
  first_rows,       // blocks of sequences, of which each has one row: its first
  scored,           // blocks of rows of scores
  sequences,
  positions,  // blocks of the caller's masked positions
};

// Which sequences a stage is for, by the number of rows that their keys are made of: by default all.
struct Lengths {
  int64_t from = 0, below = INT64_MAX;
  bool has(int64_t rows) const { return rows >= from && rows < below; }
  bool all() const { return from == 0 && below == INT64_MAX; }
};

// The rows that keys and values are computed from. They are the layer's own rows or the encoder states.
struct KeyRows {
  KeySource source = KeySource::own;
  View own;  // packed rows, where they are no encoder states

  bool reads_states(bool has_states) const {
    return source == KeySource::encoder_states || (source == KeySource::encoder_states_or_own && has_states);
  }
};

struct Stage {
  Domain domain = Domain::row_blocks;
  Lengths lengths;
  bool joins = false;       // runs at once with the stage before it: neither reads what the other writes
  int64_t extent = 0;       // source_columns: columns; compressed_rows: rows; key_heads: heads; scored:
                            // sequences that a row of scores is for, 0: a packed row
  RowsBeside beside;        // compressed_rows: those of the `extent` rows that a sequence has; k = 0: all
  KeyRows key_rows;         // of the layer, for domains and ops that are about keys
  bool whole_keys = false;  // of the layer: keys have a row for each row that they are made of
  int32_t op_begin = 0, op_end = 0;

  // compressed_rows: of a sequence whose keys are made of `source` rows.
  int64_t compressed(int64_t source) const { return beside.k > 0 ? beside.seen(source) : extent; }
};

struct Section {  // of stages
  int32_t begin = 0, end = 0;
};

// Stages that run at once: one and those that join it.
inline constexpr int32_t most_joined = 4;

const char* name_of(Domain domain);

// Whether items are blocks of rows that don't depend on one another, of any sequences.
bool takes_row_blocks(Domain domain);

// The rows that the stage makes for one sequence of `rows` rows, whose keys are made of `source` rows and of which
// `positions` are asked for. A head on pairs makes one row of scores for two sequences, so each counts half a row.
double rows_of(const Stage& stage, int64_t rows, int64_t source, int64_t positions);

}  // namespace LINFORMER_NAMESPACE
