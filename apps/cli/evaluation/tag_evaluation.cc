#include "evaluation/tag_evaluation.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "command_line/display.h"
#include "evaluation/evaluation.h"

namespace linformer::cli {
namespace {

// The two parts of a label such as B-PER: the letter for the place of the word in its entity, and the kind of the
// entity.
struct Tag {
  char place = 'O';
  std::string_view kind = {};
};

Tag tag_of(std::string_view label) {
  if (label.empty()) return {};
  const std::string_view rest = label.substr(1);
  const size_t dash = rest.find('-');
  const std::string_view kind = dash == std::string_view::npos ? rest : rest.substr(dash + 1);
  return {label[0], kind.empty() ? "_" : kind};
}

bool in_entity(const Tag& tag) { return tag.place != 'O' && tag.place != '.'; }

bool one_of(char place, std::string_view places) { return places.find(place) != std::string_view::npos; }

bool ends(const Tag& before, const Tag& tag) {
  if (one_of(before.place, "ES")) return true;
  if (one_of(before.place, "BI") && one_of(tag.place, "BSO")) return true;
  return in_entity(before) && before.kind != tag.kind;
}

bool begins(const Tag& before, const Tag& tag) {
  if (one_of(tag.place, "BS")) return true;
  if (one_of(before.place, "ESO") && one_of(tag.place, "EI")) return true;
  return in_entity(tag) && before.kind != tag.kind;
}

TagEvaluation::Scores scores_of(const TagEvaluation::Counts& counts) {
  return {.precision = ratio(counts.right, counts.predicted),
          .recall = ratio(counts.right, counts.truly),
          .f1 = ratio(2 * counts.right, counts.predicted + counts.truly)};
}

nlohmann::ordered_json json_of(const TagEvaluation::Scores& scores) {
  return {{"precision", number_or_null(scores.precision)},
          {"recall", number_or_null(scores.recall)},
          {"f1", number_or_null(scores.f1)}};
}

void remove_duplicates(std::vector<LabelledSpan>* spans) {
  std::sort(spans->begin(), spans->end());
  spans->erase(std::unique(spans->begin(), spans->end()), spans->end());
}

}  // namespace

std::vector<LabelledSpan> spans_of_labels(const std::vector<std::string>& labels) {
  std::vector<LabelledSpan> spans;
  Tag before;
  int64_t begin = 0;
  // After the last word, a label O is assumed, which ends an entity that is still open.
  for (size_t i = 0; i <= labels.size(); ++i) {
    const Tag tag = i < labels.size() ? tag_of(labels[i]) : Tag{'O', "_"};
    const auto here = static_cast<int64_t>(i);
    if (ends(before, tag)) spans.push_back({begin, here, std::string(before.kind)});
    if (begins(before, tag)) begin = here;
    before = tag;
  }
  return spans;
}

void TagEvaluation::add(std::vector<LabelledSpan> truth, std::vector<LabelledSpan> predicted) {
  remove_duplicates(&truth);
  remove_duplicates(&predicted);
  std::vector<LabelledSpan> right;
  std::set_intersection(truth.begin(), truth.end(), predicted.begin(), predicted.end(), std::back_inserter(right));
  for (const LabelledSpan& span : right) ++labels_[span.label].right;
  for (const LabelledSpan& span : predicted) ++labels_[span.label].predicted;
  for (const LabelledSpan& span : truth) ++labels_[span.label].truly;
  ++records_;
}

void TagEvaluation::add_words(const std::vector<std::string>& truth, const std::vector<std::string>& predicted) {
  words_ += truth.size();
  for (size_t i = 0; i < truth.size(); ++i) right_words_ += truth[i] == predicted[i] ? 1 : 0;
  add(spans_of_labels(truth), spans_of_labels(predicted));
}

TagEvaluation::Counts TagEvaluation::total() const {
  Counts sum;
  for (const auto& [label, counts] : labels_) {
    sum.right += counts.right;
    sum.predicted += counts.predicted;
    sum.truly += counts.truly;
  }
  return sum;
}

TagEvaluation::Scores TagEvaluation::mean(bool weighted) const {
  Scores sum{};
  double weights = 0;
  const auto or_zero = [](double value) { return std::isnan(value) ? 0 : value; };
  for (const auto& [label, counts] : labels_) {
    const Scores scores = scores_of(counts);
    const double weight = weighted ? static_cast<double>(counts.truly) : 1;
    sum.precision += weight * or_zero(scores.precision);
    sum.recall += weight * or_zero(scores.recall);
    sum.f1 += weight * or_zero(scores.f1);
    weights += weight;
  }
  return {sum.precision / weights, sum.recall / weights, sum.f1 / weights};
}

TagEvaluation::Scores TagEvaluation::micro() const { return scores_of(total()); }
TagEvaluation::Scores TagEvaluation::macro() const { return mean(false); }
TagEvaluation::Scores TagEvaluation::weighted() const { return mean(true); }

std::string TagEvaluation::text() const {
  std::string out = "records   " + grouped(records_) + "\n";
  if (errors_ > 0) out += "errors    " + grouped(errors_) + " (left out)\n";
  if (words_ > 0) {
    out += "accuracy  " + fixed(ratio(right_words_, words_), 4) + "  (" + grouped(right_words_) + " of " +
           grouped(words_) + " words)\n";
  }
  Table table({"label", "precision", "recall", "F1", "support"}, {false, true, true, true, true});
  const auto add = [&](const std::string& name, const Scores& scores, uint64_t support) {
    table.add({name, fixed(scores.precision, 4), fixed(scores.recall, 4), fixed(scores.f1, 4), grouped(support)});
  };
  for (const auto& [label, counts] : labels_) add(excerpt(label, label_width), scores_of(counts), counts.truly);
  table.add({"", "", "", "", ""});
  const uint64_t support = total().truly;
  add("micro average", micro(), support);
  add("macro average", macro(), support);
  add("weighted average", weighted(), support);
  return out + "\n" + table.text();
}

nlohmann::ordered_json TagEvaluation::json() const {
  nlohmann::ordered_json result = {{"records", records_}, {"errors", errors_}};
  if (words_ > 0) {
    result["words"] = words_;
    result["accuracy"] = ratio(right_words_, words_);
  }
  result["micro"] = json_of(micro());
  result["macro"] = json_of(macro());
  result["weighted"] = json_of(weighted());
  auto& labels = result["labels"] = nlohmann::ordered_json::array();
  for (const auto& [label, counts] : labels_) {
    nlohmann::ordered_json entry = {{"label", label}};
    entry.update(json_of(scores_of(counts)));
    entry["right"] = counts.right;
    entry["predicted"] = counts.predicted;
    entry["support"] = counts.truly;
    labels.push_back(std::move(entry));
  }
  return result;
}

}  // namespace linformer::cli
