// Measures how well answers agree with the true ones. The definitions are those of SQuAD's evaluation script.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace linformer::cli {

// Returns the words of an answer as SQuAD compares them: in lower case, without ASCII punctuation and the articles a,
// an and the.
std::vector<std::string> normalized_words(std::string_view answer);

class AnswerEvaluation {
 public:
  // Counts an answer. It is compared with the true answer that is most similar. If no true answer has words, an answer
  // without words is right.
  void add(const std::vector<std::string>& truths, std::string_view predicted);
  void add_error() { ++errors_; }

  // Return a share from 0 to 1, or NaN if there are no records.
  double exact_match() const;
  double f1() const;

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  uint64_t records_ = 0, errors_ = 0, correct_ = 0;
  double f1_sum_ = 0;
};

}  // namespace linformer::cli
