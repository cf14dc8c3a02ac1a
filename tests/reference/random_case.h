// One random model with one random batch: what the test `reference` compares.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/session.h"
#include "support/random_model.h"

namespace linformer_test {

struct RandomCase {
  RandomModel shape;
  std::shared_ptr<const linformer::Model> model;
  linformer::SessionOptions options;  // for exactly this batch, or for all that the model takes
  std::vector<RandomInput> inputs;
  std::vector<linformer::MaskPosition> mlm_positions;
  std::set<std::string> features;  // what the model and the batch have, for the table of errors

  const linformer::EncoderDescription& encoder() const;
  bool has_heads() const;
  std::vector<linformer::Input> views() const;
  // Writes `path`.json and `path`.npy for linformer_reference.py.
  void write(const std::string& path) const;
};

// Each depends on `index` alone.
RandomModel random_shape(uint64_t index);
RandomCase random_case(uint64_t index);
// The model is one of unusual_shape.h, which a session may refuse as unsupported.
RandomCase unusual_case(uint64_t index);
// RandomCase::features, of a case that has all else.
std::set<std::string> features_of(const RandomCase& c);

}  // namespace linformer_test
