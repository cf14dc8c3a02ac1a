// Cuts texts into chunks of equal length for `linformer spectrum`, which averages attention matrices. Matrices of
// different sizes have no mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input/input_options.h"
#include "linformer/model.h"

namespace linformer::cli {

struct ChunkOptions {
  // The number of the encoder's rows for a chunk. If 0, it is default_rows, or fewer if the text or the model's limit
  // is shorter.
  int64_t rows = 0;
  // The fewest rows with which Chunks::beginning() will be called; 0 if it will not be called.
  int64_t least = 0;
  int64_t texts = 0;   // The greatest number of chunks; 0 for no limit.
  bool apart = false;  // If true, a chunk has tokens of one record only, and the rest of the record is dropped.
  bool literal_special = false;
  std::string ids;  // A file of token ids to read instead of texts. Each row is a record of its own.
};

inline constexpr int64_t default_rows = 512;  // As in the paper's figure.

struct Chunks {
  int64_t rows = 0;                         // The number of the encoder's rows for each chunk.
  std::vector<std::vector<int32_t>> texts;  // The tokens of each chunk. All chunks have the same length.
  uint64_t short_records = 0;               // With ChunkOptions::apart: records that were too short for a chunk.
  size_t after = 0;                         // The number of the template's tokens after each text.

  // Returns the beginning of chunk `index` for which the encoder has `count` rows: its first tokens, with the whole
  // template around them. `count` is at least ChunkOptions::least and at most `rows`.
  std::vector<int32_t> beginning(size_t index, int64_t count) const;
};

// Reads texts and cuts them into chunks. Pads are dropped, and the tokenizer's template surrounds each chunk. Throws
// DataError if the texts are too short for a chunk.
Chunks read_chunks(const InputOptions& input, const ChunkOptions& options, const std::shared_ptr<const Model>& model,
                   const std::string& path);

}  // namespace linformer::cli
