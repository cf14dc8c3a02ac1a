// A model to measure: somebody's file, or one with random weights that lives as long as this object.
#pragma once

#include <cstdint>
#include <string>

#include "linformer/types.h"

namespace linformer::bench {

class MadeModel {
 public:
  // `size`: "base" (RoBERTa-base: 12 layers, d 768, 12 heads, FFN 3072) or "small" (2, 128, 4, 512); E = F, shared by
  // all layers, fairseq's order. About 340 MB of f32 for base. Written to `path`, or to a temporary file when empty.
  MadeModel(const std::string& size, uint32_t n, uint32_t k, ElementType type, const std::string& path);
  ~MadeModel();
  MadeModel(const MadeModel&) = delete;
  MadeModel& operator=(const MadeModel&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool temporary_;
};

}  // namespace linformer::bench
