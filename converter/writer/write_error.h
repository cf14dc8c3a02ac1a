#pragma once

#include <stdexcept>
#include <string>

namespace linformer::writer {

// An error in writing a model. The message is one sentence that names the tensor or path and the next step.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // Makes the error for a weight that can't be stored in its type, but in f32. `alternative_type` is a type that can
  // hold the weight and that all weights can be converted to, or empty.
  WriteError(const std::string& sentence, std::string weight, std::string alternative_type)
      : std::runtime_error(sentence), weight_(std::move(weight)), alternative_type_(std::move(alternative_type)) {}

  const std::string& weight() const { return weight_; }
  const std::string& alternative_type() const { return alternative_type_; }

 private:
  std::string weight_, alternative_type_;
};

}  // namespace linformer::writer
