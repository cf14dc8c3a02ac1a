// Small encoders that are linearised as apps/research/linearise does it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converter/checkpoint_writer.h"
#include "converter/conversion.h"
#include "converter/tiny_hugging_face.h"

namespace linformer_test {

// A checkpoint and its settings, which tests linearise and change.
struct LinearisedEncoder {
  std::vector<HandTensor> tensors;
  nlohmann::json config;

  static LinearisedEncoder tiny(TinyFamily family = TinyFamily::bert, int64_t layers = 4);
  // Of tests/data/golden.
  static LinearisedEncoder golden(const std::string& name);
  // A tiny BERT of 9 positions. Its layers: full attention; k 3; k 3 and window 2 with exact tokens and a span;
  // window 1.
  static LinearisedEncoder with_every_kind();

  // Gives it the setting, and random matrices of `columns` columns for each layer whose entry has a k: for keys, and in
  // layers of even numbers for values too.
  void linearise(const nlohmann::json& layers, int64_t columns);
  nlohmann::json& entry(size_t layer) { return config["linformer"]["layers"][layer]; }
  std::string bytes() const { return safetensors(tensors); }
  Converted convert() const { return converted(bytes(), config.dump()); }
  std::string error() const { return conversion_error(bytes(), config.dump()); }
};

// "linformer.layers.2.keys".
std::string matrix_name(size_t layer, const std::string& side);

// A golden encoder, and which of its layers may have what.
struct LinearisedTeacher {
  const char* name;
  bool has_bias = false;     // of positions: no layer may have compressed keys without a window
  bool has_windows = false;  // layers 1 and 2 of 4 have windows of their own
};
std::span<const LinearisedTeacher> linearised_teachers();

}  // namespace linformer_test
