// What the tests of several dialects check in the same way.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/conversion.h"

namespace linformer_test {

// One of the file formats in which a golden case was saved.
struct GoldenFile {
  std::string name;   // checkpoint.pt, ...
  std::string bytes;  // of the file
  nlohmann::json meta;
};

// Calls `convert` with each file of the golden case in `folder` and checks that all become the same model file. How
// many there were: 0 where there is no such case.
int check_golden_case(const std::string& folder, const std::function<Converted(const GoldenFile&)>& convert);

// That this dialect and no other takes the file for its own.
void check_recognised_alone(const std::string& checkpoint, const std::string& dialect);

// That the model's tensor has the values of the checkpoint's.
void check_values(const Converted& model, linformer::TensorIndex index, const HandTensor& tensor);

// That the sentence has each of the parts.
void check_sentence(const std::string& sentence, const std::vector<std::string>& parts);

}  // namespace linformer_test
