#include "evaluation/differences.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linformer::cli {

void NumberDifferences::add(std::span<const float> first, std::span<const float> second, const std::string& record) {
  double product = 0, squares = 0, other_squares = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    const double a = static_cast<double>(first[i]), b = static_cast<double>(second[i]);
    const double difference = std::abs(a - b);
    if (difference > largest_ || (rows_ == 0 && i == 0)) {
      largest_ = difference;
      record_of_largest_ = record;
    }
    sum_ += difference;
    squares_ += difference * difference;
    product += a * b;
    squares += a * a;
    other_squares += b * b;
  }
  all_squares_ += squares;
  const double lengths = std::sqrt(squares) * std::sqrt(other_squares);
  const double cosine = lengths > 0 ? std::clamp(product / lengths, -1.0, 1.0) : squares == other_squares ? 1.0 : 0.0;
  cosines_ += cosine;
  if (cosine < least_cosine_ || rows_ == 0) {
    least_cosine_ = cosine;
    record_of_least_cosine_ = record;
  }
  numbers_ += first.size();
  ++rows_;
}

double NumberDifferences::relative() const {
  if (squares_ == 0) return 0;
  return all_squares_ > 0 ? std::sqrt(squares_ / all_squares_) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace linformer::cli
