// Measures how far the numbers of two models for the same texts are apart.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace linformer::cli {

// Compares rows of numbers of a first and a second model.
class NumberDifferences {
 public:
  // Adds a row of each model. `record` is the name of the text.
  void add(std::span<const float> first, std::span<const float> second, const std::string& record);
  uint64_t rows() const { return rows_; }
  double largest() const { return largest_; }
  const std::string& record_of_largest() const { return record_of_largest_; }
  // Returns the mean of the absolute differences.
  double mean() const { return numbers_ == 0 ? 0 : sum_ / static_cast<double>(numbers_); }
  // Returns |first - second| / |first|, where all rows are taken as one vector. Returns NaN if all numbers of the first
  // model are 0 and those of the second are not.
  double relative() const;
  // Return the mean and the smallest of the cosines of the two models' rows. A cosine is 1 if both rows are zero, and 0
  // if only one of them is.
  double mean_cosine() const { return rows_ == 0 ? 1 : cosines_ / static_cast<double>(rows_); }
  double least_cosine() const { return least_cosine_; }
  const std::string& record_of_least_cosine() const { return record_of_least_cosine_; }

 private:
  uint64_t rows_ = 0, numbers_ = 0;
  double largest_ = 0, sum_ = 0, squares_ = 0, all_squares_ = 0, cosines_ = 0, least_cosine_ = 1;
  std::string record_of_largest_, record_of_least_cosine_;
};

}  // namespace linformer::cli
