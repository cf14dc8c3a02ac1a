// Makes models with random weights in sizes that are often compared, to measure without a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linformer/types.h"

namespace linformer::bench {

struct ModelShape {
  uint32_t layers = 0, d_model = 0, heads = 0, ffn = 0, vocabulary = 0;
  uint32_t n = 512;     // The number of positions, and of columns of the Linformer's projection E.
  uint32_t k = 128;     // The number of rows that E compresses keys and values to. 0 for full attention.
  uint32_t window = 0;  // The tokens on each side that a query attends to in addition to the k rows. 0 for none.
};

// Returns the sizes that --random accepts: tiny, small (all-MiniLM-L6-v2), base (RoBERTa-base), large (RoBERTa-large).
std::vector<std::string> size_names();
// Returns the shape of a size. Throws std::runtime_error for another name.
ModelShape shape_of(const std::string& size);

// Returns whether this build can make models, because it was configured with the converter.
bool can_make_models();

// Writes a model of `shape` with mean pooling. All layers share one projection E = F. It is applied before the linear
// layers, as in fairseq, or after them if there is a window. The weights depend only on the shape and are rounded to
// `type`. They are computed while they are written, so they need no memory. Throws std::runtime_error.
void write_random_model(const ModelShape& shape, ElementType type, const std::string& path);

// A temporary model file without a name. The name is removed at once, and a descriptor, which child processes inherit,
// keeps the file until this object is destroyed. On Windows the file has a name in the folder of temporary files and is
// removed by the destructor.
class TemporaryModel {
 public:
  TemporaryModel(const ModelShape& shape, ElementType type);
  ~TemporaryModel();
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;
  const std::string& path() const { return path_; }  // Valid in this process and its children.

 private:
  [[maybe_unused]] int fd_ = -1;  // Not used on Windows.
  std::string path_;
};

}  // namespace linformer::bench
