// Models with random weights of the sizes that people compare, for measuring without a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linformer/types.h"

namespace linformer::bench {

struct ModelShape {
  uint32_t layers = 0, d_model = 0, heads = 0, ffn = 0, vocabulary = 0;
  uint32_t n = 512;     // positions and E's columns
  uint32_t k = 128;     // compressed rows; 0: full attention
  uint32_t window = 0;  // rows on each side that a row sees as they are, beside compressed ones; 0: as usual
};

// What --random takes: tiny, small (all-MiniLM-L6-v2), base (RoBERTa-base), large (RoBERTa-large).
std::vector<std::string> size_names();
// Throws std::runtime_error for another name.
ModelShape shape_of(const std::string& size);

// Whether this build can make models: it was configured with the converter.
bool can_make_models();

// Writes a model of `shape`: one E = F for all layers, compressed before the linears as fairseq does, mean pooling.
// The same shape gives the same weights, of any `type`; they are made while they are written, so no memory is needed.
// Throws std::runtime_error.
void write_random_model(const ModelShape& shape, ElementType type, const std::string& path);

// A file that nobody else sees and nothing leaves behind: its name is gone, a descriptor that child processes inherit
// keeps it. On Windows it has a name, in the folder of temporary files, until it is destroyed.
class TemporaryModel {
 public:
  TemporaryModel(const ModelShape& shape, ElementType type);
  ~TemporaryModel();
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;
  const std::string& path() const { return path_; }  // for this process and its children

 private:
  [[maybe_unused]] int fd_ = -1;  // not on Windows
  std::string path_;
};

}  // namespace linformer::bench
