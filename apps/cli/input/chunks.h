// Texts of one length for a spectrum: attention matrices of different sizes have no mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input/input_options.h"
#include "linformer/model.h"

namespace linformer::cli {

struct ChunkOptions {
  int64_t rows = 0;    // that the encoder makes of a chunk; 0: as many as default_rows, less where the text is shorter
  int64_t least = 0;   // the fewest rows that Chunks::beginning() will be asked for; 0: it won't be asked
  int64_t texts = 0;   // chunks at most; 0: all
  bool apart = false;  // chunks end with a record, and what is left of it is dropped
  bool literal_special = false;
  std::string ids;  // a file of token ids instead of texts; each row is as a record of its own
};

inline constexpr int64_t default_rows = 512;  // of the paper's figure

struct Chunks {
  int64_t rows = 0;                         // of the encoder, for each
  std::vector<std::vector<int32_t>> texts;  // all of one length
  uint64_t short_records = 0;               // with `apart`: records that had no chunk's length
  size_t after = 0;                         // tokens of the tokenizer's template behind each text

  // The first of text `index`'s tokens, as many as make `count` rows, which are ChunkOptions::least at least, with the
  // whole template around them.
  std::vector<int32_t> beginning(size_t index, int64_t count) const;
};

// Pads are dropped, and the tokenizer's template surrounds each chunk. Throws DataError when there is no chunk.
Chunks read_chunks(const InputOptions& input, const ChunkOptions& options, const std::shared_ptr<const Model>& model,
                   const std::string& path);

}  // namespace linformer::cli
