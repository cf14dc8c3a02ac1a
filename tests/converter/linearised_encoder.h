// Makes small encoders that are linearised in the same way as by apps/research/linearise.
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
  // Returns the encoder of a golden in tests/data/golden.
  static LinearisedEncoder golden(const std::string& name);
  // Returns a tiny BERT of 9 positions. Layer 0 has full attention. Layer 1 has k 3. Layer 2 has k 3, window 2, exact
  // tokens and a span. Layer 3 has window 1.
  static LinearisedEncoder with_every_kind();

  // Adds the setting `linformer` with these layers. Each layer whose entry has a k gets a random matrix of `columns`
  // columns for its keys, and layers of even numbers get another one for their values.
  void linearise(const nlohmann::json& layers, int64_t columns);
  nlohmann::json& entry(size_t layer) { return config["linformer"]["layers"][layer]; }
  std::string bytes() const { return safetensors(tensors); }
  Converted convert() const { return converted(bytes(), config.dump()); }
  std::string error() const { return conversion_error(bytes(), config.dump()); }
};

// Returns the name of a matrix, such as "linformer.layers.2.keys". `side` is "keys" or "values".
std::string matrix_name(size_t layer, const std::string& side);

// A golden encoder, and what its layers can't be linearised to.
struct LinearisedTeacher {
  const char* name;
  bool has_bias = false;     // a bias for relative positions, so compressed keys need a window
  bool has_windows = false;  // layers 1 and 2 of 4 have windows of their own
};
std::span<const LinearisedTeacher> linearised_teachers();

}  // namespace linformer_test
