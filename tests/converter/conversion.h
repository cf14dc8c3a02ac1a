// A conversion in memory, from a file's bytes to a loaded model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/build_model.h"
#include "converter/checkpoint_writer.h"
#include "linformer/model.h"

namespace linformer_test {

struct Converted {
  linformer::convert::Report report;
  std::string settings;  // JSON: those that the conversion asked for and found
  linformer::writer::AlignedBytes file;
  std::shared_ptr<const linformer::Model> model;

  const linformer::ModelDescription& description() const { return model->description(); }
  // Returns a tensor's values in the order of the checkpoint's shape.
  std::vector<float> values(linformer::TensorIndex index) const;
};

// Converts the bytes of a checkpoint. `config` is the content of the file that --config would name; if it is empty,
// there is no --config. Throws the errors of the converter.
Converted converted(const std::string& checkpoint, const std::string& config = "");
// Returns the message of the error with which the conversion ends, or "" if it succeeds.
std::string conversion_error(const std::string& checkpoint, const std::string& config = "");

// Returns the tensors of a checkpoint file as f32. Tensors of integers are filled with 1.
std::vector<HandTensor> tensors_of(const std::string& path);

bool contains(const std::string& text, const std::string& part);
bool is_left_out(const std::vector<linformer::convert::Report::Omission>& left_out, const std::string& tensor);
std::string fact(const linformer::convert::Report& report, const std::string& name);

}  // namespace linformer_test
