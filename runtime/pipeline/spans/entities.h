// The entities of a text from the labels' probabilities for each of its tokens, one token after the other.
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

// What the names of a head's classes say.
class TagLabels {
 public:
  struct Label {
    std::string_view name;    // the model's, or the number of the class
    std::string_view entity;  // of a group's first label: what is behind the first '-'
    int32_t tag = 0;          // labels of one entity have the same
    bool begins = false;      // "B-"
  };

  // Views of the model. O(classes log classes).
  Status create(const Model& model, int head);
  std::span<const Label> labels() const { return labels_.span(); }

 private:
  Array<Label> labels_;
  Array<char> numbers_;  // names of classes without one
};

// Which tokens go on with the word before them.
class WordRule {
 public:
  Status create(const Model& model);
  // `id` is of the model, `offset` in the text that `points` has.
  bool continues(int32_t id, Offset offset, const CodePoints& points) const {
    if (id == unk_) return false;
    if (prefixed_) return length_of(id) != offset.end - offset.begin;
    return offset.begin > 0 && !points.is_space(offset.begin - 1) && !points.is_space(offset.begin);
  }

 private:
  uint32_t length_of(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < lengths_.size() ? lengths_[static_cast<size_t>(id)] : 0;
  }

  bool prefixed_ = false;
  int32_t unk_ = -1;
  Array<uint32_t> lengths_;  // code points of the name of each id
};

// Aggregation of one text's tokens. Knows nothing of windows: each token comes once, in its order.
class EntityBuilder {
 public:
  EntityBuilder(Aggregation aggregation, std::span<const TagLabels::Label> labels, const WordRule* words)
      : aggregation_(aggregation), labels_(labels), words_(words) {}

  // What was begun is forgotten.
  [[nodiscard]] bool start(std::string_view text);
  // Entities that are complete are appended to `entities`. Each returns false where there is no memory.
  [[nodiscard]] bool add(int32_t id, Offset offset, const float* probabilities, Array<Entity>* entities);
  [[nodiscard]] bool finish(Array<Entity>* entities);

 private:
  // A token or a word, with the label that was chosen for it.
  struct Tagged {
    size_t label;
    float score;
    Offset offset;
  };
  Tagged best_of(const float* probabilities, Offset offset) const;
  bool end_word(Array<Entity>* entities);
  bool group(const Tagged& tagged, Array<Entity>* entities);
  bool end_group(Array<Entity>* entities);
  bool emit(std::string_view label, double score, Offset offset, Array<Entity>* entities) const;

  Aggregation aggregation_;
  std::span<const TagLabels::Label> labels_;
  const WordRule* words_;
  CodePoints points_;
  // The word that was begun: how many tokens it has, and with Aggregation::average the sums of their probabilities.
  size_t word_tokens_ = 0;
  Tagged word_{};
  Array<float> sums_;
  // The group that was begun.
  size_t group_members_ = 0;
  Tagged group_{};  // its score is the sum of theirs in group_score_
  double group_score_ = 0;
};

}  // namespace LINFORMER_NAMESPACE
