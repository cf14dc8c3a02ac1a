// A model whose answers can be worked out by hand.
//
// The model has one layer. Its attention adds half the sum of all embeddings to each row. After the norm, h[0] - h[1]
// of the first row has the sign of (number of "good") - (number of "bad"). The tokenizer is WordPiece with whole words;
// any other word is [UNK].
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/description.h"
#include "support/temporary_folder.h"

namespace linformer_test {

struct SentimentModel {
  uint32_t max_tokens = 12;
  bool tokenizer = true;
  bool heads = true;  // "sentiment": neg, neu, pos; "topic": 4 classes without names
  linformer::HeadKind kind = linformer::HeadKind::single_label;  // of "sentiment"
  // If true, the model has heads that give numbers. "relevance" gives the score h[0] - h[1]. "squashed" gives its
  // sigmoid, with the label "goodness". "mood" gives two values: "up" is the score, and "down" is its negative.
  // "better_by" gives a score of two texts, which is positive if the first has more "good" than the second.
  bool numbers = false;
  // If true, the model has two more heads. "better" compares two texts and says "first" or "second", whichever has more
  // "good". "words" has 2 classes for each token.
  bool more_heads = false;
  // If true, the model has heads for tokens. "entities" gives B-GOOD to "good", B-BAD to "bad" and O to any other
  // token, if "good" and "bad" occur once each. "answers" finds an answer that begins with "good" and ends with "film".
  bool token_heads = false;
  std::vector<std::string> labels = {"neg", "neu", "pos"};  // of "sentiment"; if empty, they have no names
  bool token_types = false;                                 // each token of the second text counts like two "good"
  bool embedding = false;                                   // a text's vector: the mean of its rows, scaled to length 1
  bool static_rows = false;  // no layers: a text's vector is the mean of its tokens' embeddings without [UNK], the pad
  uint32_t characters_per_token = 0;
  std::vector<std::pair<std::string, std::string>> prompts = {};  // each prompt's name and text
  int default_prompt = -1;
  bool excludes_prompt = false;
  bool vectors = false;     // reads vectors instead of tokens, with a row of zeros before them
  bool mask_token = true;   // the tokenizer has a mask token
  bool not_finite = false;  // the embedding of "plot" has a NaN; the MLM head has a table of its own, without NaN
  linformer::ElementType type = linformer::ElementType::f32;  // of the weights
};

// ids: [PAD] 0 [UNK] 1 [CLS] 2 [SEP] 3 [MASK] 4 good 5 bad 6 film 7 a 8 the 9 . 10 , 11 plot 12
inline const std::vector<std::string> sentiment_words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad",
                                                         "film",  "a",     "the",   ".",     ",",      "plot"};
inline constexpr uint32_t sentiment_width = 16;

void write_sentiment_model(const SentimentModel& shape, const std::string& path);

// A temporary folder that is removed with the object.
class Folder : public TemporaryFolder {
 public:
  // Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& content) const;
  // Returns the names of the folder's entries.
  std::vector<std::string> names() const;
};

// A temporary folder that contains the model.
class CliFixture : public Folder {
 public:
  explicit CliFixture(const SentimentModel& shape = {}) { write_sentiment_model(shape, model()); }
  std::string model() const { return path("model.lnfr"); }
};

}  // namespace linformer_test
