// What two_versions.cc does with each version of the library.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

struct Answer {
  std::string version_namespace;
  std::vector<float> probabilities;  // of a few ids by the model
  std::string error;                 // where the bytes are no model
};
Answer use_first(std::span<const std::byte> model);
Answer use_second(std::span<const std::byte> model);
