// A plain implementation of transformers' TokenClassificationPipeline on the outputs of sessions.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "linformer/session.h"
#include "linformer/tagger.h"
#include "linformer/tokenizer.h"
#include "pipeline/token_model.h"

namespace linformer_test {

using namespace linformer;

struct FoundEntity {
  std::string label;
  double score;
  uint32_t begin, end;
  std::string text;
};

struct TaggedText {
  Code code;
  int64_t windows;
  bool truncated;
  std::vector<FoundEntity> entities;
};

// Returns the characters of a text as strings. An invalid sequence of bytes counts as one character. The texts of these
// tests have only two different invalid sequences.
inline std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = static_cast<uint8_t>(text[i]);
    size_t size = lead < 0x80 ? 1 : lead == 0xff ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (text.compare(i, 2, "\xe2\x82") == 0) size = 2;
    characters.push_back(text.substr(i, size));
    i += size;
  }
  return characters;
}

inline size_t count_code_points(std::string_view name) {
  return static_cast<size_t>(
      std::count_if(name.begin(), name.end(), [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }));
}

struct PreEntity {
  std::vector<float> scores;
  uint32_t begin, end;
  bool is_subword;
};

// Aggregates tokens to entities, step by step and with the names that the pipeline uses.
inline std::vector<FoundEntity> aggregate(const std::vector<PreEntity>& tokens, const std::vector<std::string>& labels,
                                          Aggregation aggregation, const std::vector<std::string>& characters) {
  struct Item {
    std::string label;
    double score;
    uint32_t begin, end;
  };
  const auto argmax = [](const std::vector<float>& scores) {
    return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  };
  std::vector<std::vector<PreEntity>> words;
  for (const PreEntity& token : tokens) {
    const bool by_word = aggregation != Aggregation::none && aggregation != Aggregation::simple;
    if (by_word && token.is_subword && !words.empty()) {
      words.back().push_back(token);
    } else {
      words.push_back({token});
    }
  }
  std::vector<Item> items;
  for (const std::vector<PreEntity>& word : words) {
    std::vector<float> scores = word[0].scores;
    if (aggregation == Aggregation::max) {
      for (const PreEntity& token : word) {
        if (token.scores[argmax(token.scores)] > scores[argmax(scores)]) scores = token.scores;
      }
    } else if (aggregation == Aggregation::average) {
      for (size_t c = 0; c < scores.size(); ++c) {
        double sum = 0;
        for (const PreEntity& token : word) sum += static_cast<double>(token.scores[c]);
        scores[c] = static_cast<float>(sum / static_cast<double>(word.size()));
      }
    }
    const size_t best = argmax(scores);
    items.push_back({labels[best], static_cast<double>(scores[best]), word[0].begin, word.back().end});
  }
  const auto get_tag = [](const std::string& label) {
    const bool has = label.rfind("B-", 0) == 0 || label.rfind("I-", 0) == 0;
    return std::pair(has ? label.substr(0, 1) : "I", has ? label.substr(2) : label);
  };
  std::vector<std::vector<Item>> groups;
  for (const Item& item : items) {
    if (aggregation != Aggregation::none && !groups.empty()) {
      const auto [bi, name] = get_tag(item.label);
      if (bi != "B" && name == get_tag(groups.back().back().label).second) {
        groups.back().push_back(item);
        continue;
      }
    }
    groups.push_back({item});
  }
  std::vector<FoundEntity> found;
  for (const std::vector<Item>& group : groups) {
    std::string label = group[0].label;
    if (aggregation != Aggregation::none && label.find('-') != std::string::npos)
      label = label.substr(label.find('-') + 1);
    if (label == "O") continue;
    double sum = 0;
    for (const Item& item : group) sum += item.score;
    std::string text;
    for (uint32_t i = group[0].begin; i < group.back().end; ++i) text += characters[i];
    found.push_back({label, sum / static_cast<double>(group.size()), group[0].begin, group.back().end, text});
  }
  return found;
}

// Tags one text and one window at a time, with a session and a tokenizer.
class TaggerReference {
 public:
  TaggerReference(const TokenModel& loaded, const std::vector<std::string>& labels, int64_t window, int64_t overlap)
      : labels_(labels),
        prefixed_(loaded.tokenizer.description().kind == TokenizerKind::wordpiece),
        window_(window - 2),
        overlap_(overlap < 0 ? window_ / 4 : overlap),
        tokenizer_(std::move(*Tokenizer::create(loaded.model))),
        session_(std::move(*Session::create(loaded.model, {}))) {}

  TaggedText operator()(const std::string& text, Aggregation aggregation) {
    EncodeOptions options;
    options.token_strings = true;
    options.add_special_tokens = false;
    Encoding encoding;
    REQUIRE(tokenizer_.encode(text, options, &encoding).ok());
    const int64_t count = static_cast<int64_t>(encoding.ids().size());
    std::vector<int64_t> firsts = {0};
    while (firsts.back() + window_ < count) {
      firsts.push_back(std::min(firsts.back() + window_ - overlap_, count - window_));
    }
    // The scores of a token are those of the window in which it is farthest from the ends.
    std::vector<std::vector<float>> scores(static_cast<size_t>(count));
    std::vector<int64_t> distances(static_cast<size_t>(count), -1);
    for (const int64_t first : firsts) {
      const int64_t last = std::min(first + window_, count) - 1;
      std::vector<int32_t> ids = {0};
      for (int64_t t = first; t <= last; ++t) ids.push_back(encoding.ids()[static_cast<size_t>(t)]);
      ids.push_back(2);
      const Tokens tokens[] = {ids};
      const size_t rows = static_cast<size_t>(session_.output_rows(static_cast<int64_t>(ids.size())));
      std::vector<float> values(rows * labels_.size());
      REQUIRE(session_.run(tokens, Output::probabilities(values, 0)).ok());
      for (int64_t t = first; t <= last; ++t) {
        const size_t token = static_cast<size_t>(t);
        const int64_t distance = std::min(t - first, last - t);
        if (distance <= distances[token]) continue;
        distances[token] = distance;
        const auto row =
            values.begin() +
            static_cast<ptrdiff_t>((rows - ids.size() + 1 + token - static_cast<size_t>(first)) * labels_.size());
        scores[token].assign(row, row + static_cast<ptrdiff_t>(labels_.size()));
      }
    }
    const std::vector<std::string> characters = characters_of(text);
    std::vector<PreEntity> tokens;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (encoding.ids()[i] == 1) continue;  // This token is padding, which was stripped.
      const Offset offset = encoding.offsets()[i];
      bool is_subword = false;
      if (prefixed_) {
        is_subword = count_code_points(encoding.token(i)) != offset.end - offset.begin;
      } else if (offset.begin > 0) {
        const auto space = [&](uint32_t at) { return at < characters.size() && characters[at] == " "; };
        is_subword = !space(offset.begin - 1) && !space(offset.begin);
      }
      if (encoding.ids()[i] == 3) is_subword = false;
      tokens.push_back({scores[i], offset.begin, offset.end, is_subword});
    }
    return {Code::ok, static_cast<int64_t>(firsts.size()), false, aggregate(tokens, labels_, aggregation, characters)};
  }

 private:
  std::vector<std::string> labels_;
  bool prefixed_;
  int64_t window_, overlap_;  // In tokens of the text.
  Tokenizer tokenizer_;
  Session session_;
};

}  // namespace linformer_test
