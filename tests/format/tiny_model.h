// The small model of the files in schema/golden, with content in every part of the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/writer/model_builder.h"

namespace linformer_test {

// A model and the arrays that its tokenizer's views point to.
struct TinyModel {
  explicit TinyModel(linformer::ElementType weights = linformer::ElementType::bf16);
  TinyModel(const TinyModel&) = delete;
  TinyModel& operator=(const TinyModel&) = delete;

  // Gives every field a value that differs from its default, so that a forgotten field is noticed.
  void set_every_field();

  linformer::writer::ModelBuilder builder;

 private:
  void add_tokenizer();
  std::string token_bytes_;
  std::vector<uint32_t> token_offsets_;
  std::vector<int32_t> token_ids_;
  std::vector<uint32_t> merges_;
};

// Returns the path of the golden file whose weights are of `type`.
std::string golden_model_path(linformer::ElementType type);

}  // namespace linformer_test
