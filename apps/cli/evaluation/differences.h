// Two programs' numbers for the same texts, side by side.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace linformer::cli {

// Rows of numbers: how far the second's are from the first's.
class NumberDifferences {
 public:
  // `record` names the row's text.
  void add(std::span<const float> first, std::span<const float> second, const std::string& record);
  uint64_t rows() const { return rows_; }
  double largest() const { return largest_; }
  const std::string& of_largest() const { return of_largest_; }
  double mean() const { return numbers_ == 0 ? 0 : sum_ / static_cast<double>(numbers_); }  // of the magnitudes
  // |first - second| / |first|, all rows as one vector; NaN where only the first is 0.
  double relative() const;
  // Of each row as a vector: 1 where both are zero, 0 where one is.
  double mean_cosine() const { return rows_ == 0 ? 1 : cosines_ / static_cast<double>(rows_); }
  double least_cosine() const { return least_cosine_; }
  const std::string& of_least_cosine() const { return of_least_cosine_; }

 private:
  uint64_t rows_ = 0, numbers_ = 0;
  double largest_ = 0, sum_ = 0, squares_ = 0, all_squares_ = 0, cosines_ = 0, least_cosine_ = 1;
  std::string of_largest_, of_least_cosine_;
};

}  // namespace linformer::cli
