// A random model with a random batch, which the test `reference` compares.
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
  linformer::SessionOptions options;  // Planned for exactly this batch, or for the model's maximum.
  std::vector<RandomInput> inputs;
  std::vector<linformer::MaskPosition> mlm_positions;
  std::set<std::string> features;  // The features of the model and the batch, for the table of differences.

  const linformer::EncoderDescription& encoder() const;
  bool has_heads() const;
  std::vector<linformer::Input> views() const;
  // Writes `path`.json and `path`.npy for linformer_reference.py.
  void write(const std::string& path) const;
};

// These functions return a shape and a case that depend only on `index`.
RandomModel random_shape(uint64_t index);
RandomCase random_case(uint64_t index);
// Returns a case whose model comes from unusual_shape.h. A session may refuse it as unsupported.
RandomCase unusual_case(uint64_t index);
// Returns the features of a case whose other members are set.
std::set<std::string> features_of(const RandomCase& c);

}  // namespace linformer_test
