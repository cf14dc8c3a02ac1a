// Computes formulas for the sizes of buffers, as a plan and a README write them. Tests compare the values with numbers
// of bytes, so that a formula may be written in another way.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace linformer_test {

// A formula of sums and products of numbers and names, with brackets and max(a, b).
class Formula {
 public:
  Formula(std::string text, const std::map<std::string, uint64_t>& terms) : text_(std::move(text)), terms_(terms) {}

  uint64_t value() {
    const uint64_t result = sum();
    REQUIRE_MESSAGE(at_ == text_.size(), text_);
    return result;
  }

 private:
  bool consume(const std::string& token) {
    skip_spaces();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  uint64_t sum() {
    uint64_t result = product();
    while (consume("+")) result += product();
    return result;
  }
  uint64_t product() {
    uint64_t result = factor();
    while (consume("x ")) result *= factor();
    return result;
  }
  uint64_t factor() {
    const bool largest = consume("max(");
    if (largest || consume("(")) {
      uint64_t result = sum();
      while (largest && consume(",")) result = std::max(result, sum());
      REQUIRE_MESSAGE(consume(")"), text_);
      return result;
    }
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    REQUIRE_MESSAGE(!word.empty(), text_);
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return std::stoull(word);
    REQUIRE_MESSAGE(terms_.contains(word), word);
    return terms_.at(word);
  }

  const std::string text_;
  const std::map<std::string, uint64_t>& terms_;
  size_t at_ = 0;
};

// Returns a buffer's bytes by a formula, rounded up to a multiple of 64.
inline uint64_t formula_bytes(const std::string& formula, const std::map<std::string, uint64_t>& terms) {
  return (Formula(formula, terms).value() + 63) / 64 * 64;
}

}  // namespace linformer_test
