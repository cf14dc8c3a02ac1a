// Writes a spectrum as tables, CSV and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "research/spectrum.h"

namespace linformer::research {

// A spectrum, the names of the model and the text, and the options of the report.
struct SpectrumReport {
  Spectrum spectrum;
  std::string model, text;  // Names for the reader.
  // For each head, the share that the first `rank` singular values have of the sum of all is shown.
  int64_t rank = 0;
  // k of a head is the smallest number of singular values that have at least this share of the sum, 0 to 1.
  double keep = 0.9;
};

// Returns a table with a row for each layer and a column for each head. `heads` has the number of heads of each layer,
// and `cell(layer, head)` returns the text of a cell. The columns `last_columns` follow with the cells that
// `ends(layer)` returns.
std::string table_by_head(const std::vector<size_t>& heads, const std::vector<std::string>& last_columns,
                          const std::function<std::string(size_t, size_t)>& cell,
                          const std::function<std::vector<std::string>(size_t)>& ends);
// Returns the shortest decimal text from which the same number can be read back.
std::string shortest_decimal(double value);

// Returns a description of the texts, such as "8 texts of 512 tokens (book.txt)".
std::string describe_texts(const SpectrumReport& report);
// Returns `keep` as a text such as "90 % of the sum".
std::string percent_of_sum(const SpectrumReport& report);
// Returns the mean over all heads of the k that keeps the share `keep`.
double mean_rank(const SpectrumReport& report);

std::string spectrum_text(const SpectrumReport& report);
// Returns CSV with a row for each layer, head and index.
std::string spectrum_csv(const SpectrumReport& report);
nlohmann::ordered_json spectrum_json(const SpectrumReport& report);

}  // namespace linformer::research
