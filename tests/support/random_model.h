// A Linformer of any shape with random weights, made through the converter's own writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "converter/writer/model_builder.h"
#include "linformer/model.h"

namespace linformer_test {

struct RandomModel {
  uint64_t seed = 1;
  uint32_t n = 48;  // longest text
  uint32_t k = 12;
  uint32_t d_model = 32;
  uint32_t heads = 4;
  uint32_t head_dim = 0;  // 0: d_model / heads
  uint32_t ffn = 64;
  uint32_t layers = 2;
  uint32_t vocabulary = 50;
  bool shared_key_value = false;  // E = F
  bool shared_layers = false;
  bool pre_norm = false;
  linformer::ProjectionOrder order = linformer::ProjectionOrder::before_linear;
  bool projection_bias = false;
  bool linear_bias = true;
  bool transform = false, transform_before_norm = false;
  linformer::Activation activation = linformer::Activation::gelu;
  std::vector<uint32_t> head_classes = {3};  // one classification head for each entry
  bool masked_lm = true;
  bool tied_output = true;
  linformer::ElementType type = linformer::ElementType::f32;
};

// Pad id 1, positions as fairseq counts them, pads zeroed.
linformer::writer::ModelBuilder random_builder(const RandomModel& shape);
// The bytes live as long as the returned model.
std::shared_ptr<const linformer::Model> random_model(const RandomModel& shape);
// Token ids in [4, vocabulary) that depend on `seed` alone.
std::vector<int32_t> random_ids(uint64_t seed, int64_t count, uint32_t vocabulary);

}  // namespace linformer_test
