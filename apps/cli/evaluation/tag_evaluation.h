// Measures how well the entities of a text agree with the true ones. The definitions are those of seqeval's default
// mode.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "input/records.h"

namespace linformer::cli {

// Returns the entities of a sequence of labels such as B-PER, I-PER, O, one label for each word. As in seqeval and in
// CoNLL's own script, a label I- that doesn't continue an entity begins one, and E- and S- end one. The start and the
// end of an entity are indices of words.
std::vector<LabelledSpan> spans_of_labels(const std::vector<std::string>& labels);

class TagEvaluation {
 public:
  // Counts the entities of one text. A predicted entity is right if a true one has the same start, end and label.
  // Duplicates count once.
  void add(std::vector<LabelledSpan> truth, std::vector<LabelledSpan> predicted);
  // Counts the entities of one text from the labels of its words. Also counts the words, and those whose label is
  // right.
  void add_words(const std::vector<std::string>& truth, const std::vector<std::string>& predicted);
  void add_error() { ++errors_; }
  // Returns the number of different labels of the entities that occurred.
  size_t label_count() const { return labels_.size(); }

  struct Counts {
    uint64_t right = 0, predicted = 0, truly = 0;
  };
  // The precision is NaN if there are no predicted entities, the recall if there are no true ones, and F1 if there are
  // neither.
  struct Scores {
    double precision, recall, f1;
  };
  Scores micro() const;
  // Return the mean over the labels that occur as truth or prediction. weighted() weights each label by the number of
  // its true entities. A label's score that is not defined counts as 0. The mean is NaN if there are no labels, and
  // that of weighted() if there are no true entities.
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
