// Writes the k of low-rank approximations as tables, CSV and JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "research/approximation.h"

namespace linformer::research {

// The approximations at one or more lengths of text, with their options and the names of the model and the text.
struct ApproximationReport {
  // At least one, in ascending order of the lengths. All have the same layers and heads.
  std::vector<Approximation> lengths;
  ApproximationOptions options;
  std::string model, text;  // Names for the reader.

  const Approximation& longest() const { return lengths.back(); }
};

// The smallest k with which half of the heads (`half`) or all heads (`all`) have at most a given error. A member is
// empty if its k is too large to be found.
struct EnoughK {
  std::optional<int64_t> half, all;
};

enum class KindOfK { projected, expected, singular };
// Returns the smallest k of one head, or nothing if it was not found.
std::optional<int64_t> smallest_k(const HeadApproximation& head, KindOfK kind, double error);
// Return these k for the heads of one layer, or for the heads of all layers.
EnoughK enough_k(const std::vector<HeadApproximation>& heads, KindOfK kind, double error);
EnoughK enough_k(const Approximation& approximation, KindOfK kind, double error);
// Returns the mean over all heads of element k - 1 of the array `values`, or nothing if k is more than n.
std::optional<double> mean_at_rank(const Approximation& approximation, std::vector<double> HeadApproximation::*values,
                                   int64_t k);

// Returns a description of the texts, such as "8 texts of 128, 256 and 512 tokens (book.txt)".
std::string describe_texts(const ApproximationReport& report);

std::string approximation_text(const ApproximationReport& report);
// Returns CSV with a row for each length, layer, head and k.
std::string approximation_csv(const ApproximationReport& report);
nlohmann::ordered_json approximation_json(const ApproximationReport& report);

}  // namespace linformer::research
