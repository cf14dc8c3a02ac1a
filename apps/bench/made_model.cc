#include "bench/made_model.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "support/random_model.h"

namespace linformer::bench {

MadeModel::MadeModel(const std::string& size, uint32_t n, uint32_t k, ElementType type, const std::string& path)
    : path_(path), temporary_(path.empty()) {
  linformer_test::RandomModel shape;
  if (size == "base") {
    shape.layers = 12;
    shape.d_model = 768;
    shape.heads = 12;
    shape.ffn = 3072;
  } else if (size == "small") {
    shape.layers = 2;
    shape.d_model = 128;
    shape.heads = 4;
    shape.ffn = 512;
  } else {
    throw std::runtime_error("--random is base or small, not " + size);
  }
  shape.n = n;
  shape.k = std::max(k, 1u);
  shape.vocabulary = 1000;
  shape.shared_key_value = shape.shared_layers = true;
  shape.head_classes = {2};
  shape.masked_lm = false;
  shape.type = type;
  if (temporary_) {
    path_ =
        (std::filesystem::temp_directory_path() / ("linformer-bench-" + std::to_string(getpid()) + ".lnfr")).string();
  }
  writer::ModelBuilder builder = linformer_test::random_builder(shape);
  if (k == 0) {
    Projection full;
    full.kind = ProjectionKind::none;
    builder.description.encoder.projections = {full};
    for (LayerDescription& layer : builder.description.encoder.layers) {
      layer.attention.key_projections = layer.attention.value_projections = {0};
    }
  }
  builder.write(path_);
}

MadeModel::~MadeModel() {
  std::error_code ignored;
  if (temporary_) std::filesystem::remove(path_, ignored);
}

}  // namespace linformer::bench
