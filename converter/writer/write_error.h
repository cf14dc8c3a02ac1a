#pragma once

#include <stdexcept>
#include <string>

namespace linformer::writer {

// One sentence that names the tensor or path and what to do.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // A weight that can't be stored in its type, but in f32; `type_for_all`: a type that holds such weights, or empty.
  WriteError(const std::string& sentence, std::string weight, std::string type_for_all)
      : std::runtime_error(sentence), weight_(std::move(weight)), type_for_all_(std::move(type_for_all)) {}

  const std::string& weight() const { return weight_; }
  const std::string& type_for_all() const { return type_for_all_; }

 private:
  std::string weight_, type_for_all_;
};

}  // namespace linformer::writer
