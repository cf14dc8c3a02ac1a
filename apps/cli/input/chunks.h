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
  // The length of a chunk in rows of the encoder. If 0, it is default_rows, or less if the text or the model's limit is
  // shorter.
  int64_t rows = 0;
  // The smallest `encoder_rows` with which Chunks::shortened_chunk() will be called; 0 if it will not be called.
  int64_t least = 0;
  int64_t texts = 0;   // The greatest number of chunks; 0 for no limit.
  bool apart = false;  // Each chunk has tokens of one record only. Tokens that fill no chunk are dropped.
  bool literal_special = false;
  std::string ids;  // A file of token ids to read instead of texts. Each row is a record of its own.
};

inline constexpr int64_t default_rows = 512;  // The length in figure 1 of the Linformer paper.

struct Chunks {
  int64_t rows = 0;                         // The length of each chunk in rows of the encoder.
  std::vector<std::vector<int32_t>> texts;  // The tokens of each chunk. All chunks have the same length.
  uint64_t short_records = 0;               // With ChunkOptions::apart: records that were too short for a chunk.
  size_t after = 0;                         // The number of special tokens that follow the text in each chunk.

  // Returns the beginning of chunk `index` for which the encoder has `encoder_rows` rows: its first tokens, with the
  // whole template around them. `encoder_rows` is at least ChunkOptions::least and at most `rows`.
  std::vector<int32_t> shortened_chunk(size_t index, int64_t encoder_rows) const;
};

// Reads texts or token ids and cuts them into chunks. Pads are dropped. The tokenizer's template surrounds each chunk
// of texts, but no chunk of token ids. Throws DataError if the input is too short for a chunk.
Chunks read_chunks(const InputOptions& input, const ChunkOptions& options, const std::shared_ptr<const Model>& model,
                   const std::string& path);

}  // namespace linformer::cli
