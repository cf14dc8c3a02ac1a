// Makes memory for outputs, as large as the session says.
#pragma once

#include <cmath>
#include <vector>

#include "linformer/session.h"

namespace linformer_test {

// Returns a NaN for every float of an output, or nothing if the model doesn't have the output.
template <class Inputs>
std::vector<float> nan_buffer_for(const linformer::Session& session, const Inputs& inputs,
                                  const linformer::Output& output) {
  const linformer::Result<linformer::Shape> shape = session.shape(output, inputs);
  return std::vector<float>(shape.ok() ? static_cast<size_t>(shape->floats()) : 0, NAN);
}

// Adds `output` to `list` if the model has it. `values` becomes its memory.
template <class Inputs>
void add_output(const linformer::Session& session, const Inputs& inputs, linformer::Output output,
                std::vector<float>* values, std::vector<linformer::Output>* list) {
  *values = nan_buffer_for(session, inputs, output);
  if (values->empty()) return;
  output.values = *values;
  list->push_back(output);
}

}  // namespace linformer_test
