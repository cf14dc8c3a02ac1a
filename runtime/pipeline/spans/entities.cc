#include "pipeline/spans/entities.h"

#include <algorithm>
#include <charconv>

#include "base/description.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr std::string_view outside = "O";

Status no_memory_for_labels() { return Status::error(Code::out_of_memory, "no memory for a tagger"); }

uint32_t count_characters(std::string_view text) {
  uint32_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) next_repaired_code_point(text, &at);
  return count;
}

// Returns the label without "B-" or "I-" at its start.
std::string_view tag_of(std::string_view label) {
  return label.starts_with("B-") || label.starts_with("I-") ? label.substr(2) : label;
}

}  // namespace

Status TagLabels::create(const Model& model, int head) {
  constexpr size_t most_digits = 20;  // Enough for the number of a class and the null character behind it.
  const size_t classes = static_cast<size_t>(model.head(head).classes);
  Array<uint32_t> order;
  size_t unnamed = 0;
  for (size_t i = 0; i < classes; ++i) unnamed += model.label(head, static_cast<int64_t>(i)).empty();
  // All memory is reserved first, so that the views of numbers_ stay valid while it grows.
  if (!labels_.try_resize(classes) || !order.try_resize_for_overwrite(classes) ||
      !numbers_.try_reserve(unnamed * most_digits)) {
    return no_memory_for_labels();
  }
  for (size_t i = 0; i < classes; ++i) {
    Label& label = labels_[i];
    order[i] = static_cast<uint32_t>(i);
    label.name = model.label(head, static_cast<int64_t>(i));
    if (label.name.empty()) {
      char digits[most_digits];
      const size_t size = static_cast<size_t>(std::to_chars(digits, digits + most_digits, i).ptr - digits);
      const size_t begin = numbers_.size();
      if (!numbers_.try_append(digits, size) || !numbers_.try_push('\0')) return no_memory_for_labels();
      label.name = {numbers_.data() + begin, size};
    }
    label.begins = label.name.starts_with("B-");
    const size_t dash = label.name.find('-');
    label.entity = dash == std::string_view::npos ? label.name : label.name.substr(dash + 1);
  }
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    const std::string_view first = tag_of(labels_[a].name), second = tag_of(labels_[b].name);
    return first != second ? first < second : a < b;
  });
  for (size_t i = 1; i < classes; ++i) {
    const Label& before = labels_[order[i - 1]];
    Label& label = labels_[order[i]];
    label.tag = before.tag + (tag_of(before.name) != tag_of(label.name) ? 1 : 0);
  }
  return {};
}

Status WordRule::create(const Model& model) {
  const TokenizerDescription& tokenizer = model.description().tokenizer;
  unk_ = tokenizer.unk;
  prefixed_ = tokenizer.kind == TokenizerKind::wordpiece && !tokenizer.continuing_prefix.empty();
  if (!prefixed_) return {};
  if (!lengths_.try_resize(model.description().encoder.vocab_size)) return no_memory_for_labels();
  const auto set = [this](int32_t id, std::string_view name) {
    if (id >= 0 && static_cast<size_t>(id) < lengths_.size()) {
      lengths_[static_cast<size_t>(id)] = count_characters(name);
    }
  };
  // The views of the tokenizer are in range, because it was checked when it was created.
  for (size_t i = 0; i + 1 < tokenizer.token_offsets.size(); ++i) {
    const uint32_t begin = tokenizer.token_offsets[i], end = tokenizer.token_offsets[i + 1];
    set(tokenizer.token_ids.empty() ? static_cast<int32_t>(i) : tokenizer.token_ids[i],
        {tokenizer.token_bytes.data() + begin, end - begin});
  }
  for (const AddedToken& token : tokenizer.added_tokens) set(token.id, token.content);
  return {};
}

bool EntityBuilder::start(std::string_view text) {
  word_tokens_ = group_members_ = 0;
  return points_.index(text);
}

EntityBuilder::Tagged EntityBuilder::best_label(const float* probabilities, Offset offset) const {
  const size_t label =
      static_cast<size_t>(std::max_element(probabilities, probabilities + labels_.size()) - probabilities);
  return {label, probabilities[label], offset};
}

bool EntityBuilder::add(int32_t id, Offset offset, const float* probabilities, Array<Entity>* entities) {
  const bool average = aggregation_ == Aggregation::average;
  const Tagged tagged = best_label(probabilities, offset);
  if (aggregation_ == Aggregation::none)
    return append_entity(labels_[tagged.label].name, tagged.score, offset, entities);
  if (aggregation_ == Aggregation::simple) return add_to_group(tagged, entities);
  if (word_tokens_ > 0 && words_->continues_word(id, offset, points_)) {
    ++word_tokens_;
    word_.offset.end = offset.end;
    if (average) {
      for (size_t i = 0; i < labels_.size(); ++i) sums_[i] += probabilities[i];
    } else if (aggregation_ == Aggregation::max && tagged.score > word_.score) {
      word_.label = tagged.label;
      word_.score = tagged.score;
    }
    return true;
  }
  if (!end_word(entities)) return false;
  word_tokens_ = 1;
  word_ = tagged;
  sums_.clear();
  return !average || sums_.try_append(probabilities, labels_.size());
}

bool EntityBuilder::end_word(Array<Entity>* entities) {
  if (word_tokens_ == 0) return true;
  if (aggregation_ == Aggregation::average) {
    for (float& sum : sums_) sum /= static_cast<float>(word_tokens_);
    word_ = best_label(sums_.data(), word_.offset);
  }
  word_tokens_ = 0;
  return add_to_group(word_, entities);
}

bool EntityBuilder::add_to_group(const Tagged& tagged, Array<Entity>* entities) {
  const TagLabels::Label& label = labels_[tagged.label];
  if (group_members_ > 0 && !label.begins && label.tag == labels_[group_.label].tag) {
    ++group_members_;
    group_score_ += static_cast<double>(tagged.score);
    group_.offset.end = tagged.offset.end;
    return true;
  }
  if (!end_group(entities)) return false;
  group_members_ = 1;
  group_ = tagged;
  group_score_ = static_cast<double>(tagged.score);
  return true;
}

bool EntityBuilder::end_group(Array<Entity>* entities) {
  if (group_members_ == 0) return true;
  const double score = group_score_ / static_cast<double>(group_members_);
  group_members_ = 0;
  return append_entity(labels_[group_.label].entity, score, group_.offset, entities);
}

bool EntityBuilder::append_entity(std::string_view label, double score, Offset offset, Array<Entity>* entities) const {
  if (label == outside) return true;
  return entities->try_push({label, static_cast<float>(score), offset, points_.text_of(offset)});
}

bool EntityBuilder::finish(Array<Entity>* entities) { return end_word(entities) && end_group(entities); }

}  // namespace LINFORMER_NAMESPACE
