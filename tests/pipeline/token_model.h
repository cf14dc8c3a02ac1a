// A model with random weights, heads that score each token, and a tokenizer of any kind.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cli/sentiment_model.h"
#include "linformer/model.h"
#include "support/random_model.h"
#include "support/random_tokenizer.h"

namespace linformer_test {

struct TokenModelShape {
  linformer::TokenizerKind kind = linformer::TokenizerKind::wordpiece;
  uint32_t n = 24;
  // The labels of head 0.
  std::vector<std::string> labels = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC", "X-MISC", "I-MISC"};
  bool prefix = false;        // Whether the model puts a token before the text.
  bool answers = true;        // Whether head 1 answers questions.
  bool labels_tokens = true;  // Whether head 0 labels each token.
};

// Head 0 labels each token and head 1 answers questions, unless the shape says otherwise. Head 2 scores whole texts,
// and head 3 gives each token a number.
struct TokenModel : Folder {
  explicit TokenModel(const TokenModelShape& given = {}) : tokenizer(given.kind, 5, vocabulary, 1, false) {
    using namespace linformer;
    RandomModel shape;
    shape.seed = 17;
    shape.n = given.n;
    shape.vocabulary = vocabulary;
    shape.prefix_token = given.prefix;
    shape.head_classes = {static_cast<uint32_t>(given.labels.empty() ? 8 : given.labels.size()), 2, 3, 1};
    shape.head_kinds.clear();
    for (int head = 0; head < 4; ++head) {
      RandomHead kind;
      kind.dense = false;
      kind.pooling = head == 2 ? Pooling::first_token : Pooling::none;
      if (head == 0 && !given.labels_tokens) kind.pooling = Pooling::mean;
      if (head == 1) kind.kind = given.answers ? HeadKind::regression : HeadKind::multi_label;
      if (head == 3) kind.kind = HeadKind::regression;
      shape.head_kinds.push_back(kind);
    }
    writer::ModelBuilder builder = random_builder(shape);
    Array<String>& labels = builder.description.heads[0].labels;
    labels.clear();
    for (const std::string& label : given.labels) labels.push_back(label);
    builder.description.tokenizer = tokenizer.description();
    file = path("model.lnfr");
    builder.write(file);
    const Result<std::shared_ptr<const Model>> loaded = Model::load(file.c_str());
    if (loaded.ok()) model = *loaded;
  }

  static constexpr uint32_t vocabulary = 320;
  RandomTokenizer tokenizer;
  std::string file;
  std::shared_ptr<const linformer::Model> model;
};

// Returns `count` texts of up to `most` parts: words inside and outside of the vocabulary, white space, characters of
// several bytes, and invalid bytes.
inline std::vector<std::string> random_texts(size_t count, size_t most, uint32_t seed) {
  const char* parts[] = {"good",   "film", "ing", "the",  "plot",     "of",   "a",      ",",       ".",  "eloto",
                         " ",      " ",    " ",   "  ",   " ",        "\n",   "\u00e9", "e\u0301", "zz", "\U0001f600",
                         "\u0130", " ",    " ",   "\xff", "\xe2\x82", "GOOD", "Film",   "[MASK]"};
  std::mt19937 random(seed);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    for (size_t i = random() % (most + 1); i > 0; --i) text += parts[random() % std::size(parts)];
  }
  return texts;
}

}  // namespace linformer_test
