// Checks that the tests of several dialects share.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/conversion.h"

namespace linformer_test {

// A file of a golden case, in one of the file formats in which the case was saved.
struct GoldenFile {
  std::string name;   // checkpoint.pt, ...
  std::string bytes;  // of the file
  nlohmann::json meta;
};

// Calls `convert` with each file of the golden case in `folder`, and checks that all files become the same model file.
// Returns the number of files, which is 0 if there is no such case.
int check_golden_case(const std::string& folder, const std::function<Converted(const GoldenFile&)>& convert);

// Checks that this dialect, and no other, recognises the file.
void check_recognised_alone(const std::string& checkpoint, const std::string& dialect);

// Checks that the model's tensor has the values of the checkpoint's tensor.
void check_values(const Converted& model, linformer::TensorIndex index, const HandTensor& tensor);

// Checks that the sentence contains each of the parts.
void check_sentence(const std::string& sentence, const std::vector<std::string>& parts);

}  // namespace linformer_test
