// Finds the entities of a text from the probabilities of the labels for each token. The tokens are added one after
// another.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "linformer/model.h"
#include "linformer/tagger.h"
#include "linformer/version.h"
#include "pipeline/spans/code_points.h"

namespace LINFORMER_NAMESPACE {

// The classes of a head and the entities that their names stand for.
class TagLabels {
 public:
  struct Label {
    std::string_view name;    // The model's name of the class, or the number of the class if the model has no name.
    std::string_view entity;  // What follows the first '-' in the name, or the whole name. Names a group of tokens.
    int32_t tag = 0;          // Labels that are equal without "B-" or "I-" at the start have the same number.
    bool begins = false;      // The name starts with "B-".
  };

  // Reads the labels of `head` in O(classes log classes). The model must live as long as the labels.
  Status create(const Model& model, int head);
  std::span<const Label> labels() const { return labels_.span(); }

 private:
  Array<Label> labels_;
  Array<char> numbers_;  // The numbers that stand for missing names.
};

// The rule that tells which tokens continue the word of the token before them.
class WordRule {
 public:
  Status create(const Model& model);
  // Returns whether a token continues the word before it. `offset` is its place in the text of `points`. With WordPiece
  // a token with "##" has a name that is longer than its place in the text. With other tokenizers a token continues a
  // word if no space stands before it or at its start.
  bool continues_word(int32_t id, Offset offset, const CodePoints& points) const {
    if (id == unk_) return false;
    if (prefixed_) return name_length(id) != offset.end - offset.begin;
    return offset.begin > 0 && !points.is_u0020(offset.begin - 1) && !points.is_u0020(offset.begin);
  }

 private:
  uint32_t name_length(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < lengths_.size() ? lengths_[static_cast<size_t>(id)] : 0;
  }

  bool prefixed_ = false;
  int32_t unk_ = -1;
  Array<uint32_t> lengths_;  // The number of code points of each id's name.
};

// Joins the tokens of one text into words and entities. The caller adds each token once and in order, even if several
// windows contain it. Functions return false if there is no memory.
class EntityBuilder {
 public:
  EntityBuilder(Aggregation aggregation, std::span<const TagLabels::Label> labels, const WordRule* words)
      : aggregation_(aggregation), labels_(labels), words_(words) {}

  // Starts a new text. An entity that was begun is discarded.
  [[nodiscard]] bool start(std::string_view text);
  // add() and finish() append the entities that are complete to `entities`.
  [[nodiscard]] bool add(int32_t id, Offset offset, const float* probabilities, Array<Entity>* entities);
  [[nodiscard]] bool finish(Array<Entity>* entities);

 private:
  // A token or a word with the label that was chosen for it.
  struct Tagged {
    size_t label;
    float score;
    Offset offset;
  };
  Tagged best_label(const float* probabilities, Offset offset) const;
  bool end_word(Array<Entity>* entities);
  bool add_to_group(const Tagged& tagged, Array<Entity>* entities);
  bool end_group(Array<Entity>* entities);
  bool append_entity(std::string_view label, double score, Offset offset, Array<Entity>* entities) const;

  Aggregation aggregation_;
  std::span<const TagLabels::Label> labels_;
  const WordRule* words_;
  CodePoints points_;
  // The current word: the number of its tokens and, with Aggregation::average, the sums of their probabilities.
  size_t word_tokens_ = 0;
  Tagged word_{};
  Array<float> sums_;
  // The current group of tokens or words, which becomes an entity.
  size_t group_members_ = 0;
  Tagged group_{};
  double group_score_ = 0;  // The sum of the members' scores. It is used in place of group_.score.
};

}  // namespace LINFORMER_NAMESPACE
