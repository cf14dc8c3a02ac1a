// How well answers agree with the true ones, counted as SQuAD's script counts them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace linformer::cli {

// The words of an answer as SQuAD compares them: in lower case, without ASCII punctuation and the articles a, an, the.
std::vector<std::string> answer_words(std::string_view answer);

class AnswerEvaluation {
 public:
  // Counts an answer by the true one that it is most like. Without a true one that has words, no words are right.
  void add(const std::vector<std::string>& truths, std::string_view predicted);
  void add_error() { ++errors_; }

  // Shares of 1; NaN without records.
  double exact_match() const;
  double f1() const;

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  uint64_t records_ = 0, errors_ = 0, correct_ = 0;
  double f1_sum_ = 0;
};

}  // namespace linformer::cli
