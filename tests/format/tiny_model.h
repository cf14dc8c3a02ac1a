// The model behind schema/golden/v1.lnfr: small, with something in every part of the format.
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

  // A value in every field of version 2 that differs from its default, so that a forgotten one shows:
  // schema/golden/v2.lnfr.
  void use_everything();
  // The same, and what version 3 of the format brought: schema/golden/v3.lnfr.
  void use_version_3();
  // The same, and what version 4 brought: schema/golden/v4.lnfr.
  void use_version_4();

  linformer::writer::ModelBuilder builder;

 private:
  void add_tokenizer();
  std::string token_bytes_;
  std::vector<uint32_t> token_offsets_;
  std::vector<int32_t> token_ids_;
  std::vector<uint32_t> merges_;
};

// The path of the golden file of format version `version`.
std::string golden_model(int version);

}  // namespace linformer_test
