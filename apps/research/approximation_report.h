// The k of low-rank approximations as tables, CSV and JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "research/approximation.h"

namespace linformer::research {

// The approximation of texts of several lengths, and what it is said about.
struct ApproximationReport {
  std::vector<Approximation> lengths;  // shortest first, at least one; layers and heads are alike
  ApproximationOptions options;
  std::string model, text;  // names

  const Approximation& longest() const { return lengths.back(); }
};

// What is enough for half of the heads, and for all. None: more than is known.
struct EnoughK {
  std::optional<int64_t> half, all;
};

enum class KindOfK { projected, expected, singular };
// Of one head.
std::optional<int64_t> k_of(const HeadApproximation& head, KindOfK kind, double error);
// Over the heads of a layer, or of all layers.
EnoughK enough_k(const std::vector<HeadApproximation>& heads, KindOfK kind, double error);
EnoughK enough_k(const Approximation& approximation, KindOfK kind, double error);
// The mean over all heads of an array's element for rank k; none where k is more than n.
std::optional<double> mean_at(const Approximation& approximation, std::vector<double> HeadApproximation::*values,
                              int64_t k);

// "8 texts of 128, 256 and 512 tokens (book.txt)"
std::string described_texts(const ApproximationReport& report);

std::string approximation_text(const ApproximationReport& report);
// A row for each length, layer, head and k.
std::string approximation_csv(const ApproximationReport& report);
nlohmann::ordered_json approximation_json(const ApproximationReport& report);

}  // namespace linformer::research
