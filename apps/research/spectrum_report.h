// A spectrum as a table, CSV and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "research/spectrum.h"

namespace linformer::research {

// A spectrum and what it is said about.
struct SpectrumReport {
  Spectrum spectrum;
  std::string model, text;  // names
  int64_t rank = 0;         // the index whose share is shown for each head
  double keep = 0.9;        // the share of the sum that k is to keep
};

// A table with a row for each layer, of so many heads, and a column for each head: `cell(layer, head)`. Then come
// `last_columns`, whose cells are `ends(layer)`.
std::string table_by_head(const std::vector<size_t>& heads, const std::vector<std::string>& last_columns,
                          const std::function<std::string(size_t, size_t)>& cell,
                          const std::function<std::vector<std::string>(size_t)>& ends);
// The shortest digits that read back as the same number.
std::string digits(double value);

// "8 texts of 512 tokens (book.txt)"
std::string described_texts(const SpectrumReport& report);
// "90 % of the sum"
std::string percent_of_sum(const SpectrumReport& report);
// Mean over all heads of the k that keeps `keep`.
double mean_rank(const SpectrumReport& report);

std::string spectrum_text(const SpectrumReport& report);
// A row for each layer, head and index.
std::string spectrum_csv(const SpectrumReport& report);
nlohmann::ordered_json spectrum_json(const SpectrumReport& report);

}  // namespace linformer::research
