// How well a text's entities agree with the true ones, counted as seqeval counts them in its default mode.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "input/records.h"

namespace linformer::cli {

// The entities of a sequence of labels such as B-PER, I-PER, O. As in seqeval and in CoNLL's own script, an I- that
// goes on with nothing begins an entity, and E- and S- end one. Start and end count words.
std::vector<LabelledSpan> spans_of_labels(const std::vector<std::string>& labels);

class TagEvaluation {
 public:
  // Counts the entities of one text: right is what is the same in start, end and label. Twice the same counts once.
  void add(std::vector<LabelledSpan> truth, std::vector<LabelledSpan> predicted);
  // Counts the labels of one text's words as well.
  void add_words(const std::vector<std::string>& truth, const std::vector<std::string>& predicted);
  void add_error() { ++errors_; }
  // How many labels have occurred.
  size_t labels() const { return labels_.size(); }

  struct Counts {
    uint64_t right = 0, predicted = 0, truly = 0;
  };
  struct Scores {  // NaN where nothing was predicted (precision) or nothing is true (recall)
    double precision, recall, f1;
  };
  Scores micro() const;
  // Means over the labels that occur as truth or prediction, alike or by how often they are true; a number that is not
  // defined counts as 0.
  Scores macro() const;
  Scores weighted() const;

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  Counts total() const;
  Scores mean(bool weighted) const;

  std::map<std::string, Counts, std::less<>> labels_;
  uint64_t records_ = 0, errors_ = 0, words_ = 0, right_words_ = 0;
};

}  // namespace linformer::cli
