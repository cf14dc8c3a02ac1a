// Declares functions that two_versions.cc calls, one for each version of the library.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

struct Answer {
  std::string version_namespace;
  std::vector<float> probabilities;  // The model's result for a few ids; empty after an error.
  std::string error;                 // Empty if the model ran.
};
Answer run_first_version(std::span<const std::byte> model);
Answer run_second_version(std::span<const std::byte> model);
