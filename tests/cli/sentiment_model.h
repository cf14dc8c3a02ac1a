// A model whose answers can be worked out by hand.
//
// One layer whose attention adds the sum of all embeddings to each row, so that after the norm h[0] - h[1] of the first
// row has the sign of (number of "good") - (number of "bad"). WordPiece with whole words; anything else is [UNK].
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
  // "relevance": a score, h[0] - h[1]; "squashed": its sigmoid, named "goodness"; "mood": two values, "up" and "down",
  // that and its negative; "better_by": a score, by how much the first of two texts has more "good".
  bool numbers = false;
  // "better": first, second, whichever of two texts has more "good"; "words": 2 classes for each token.
  bool more_heads = false;
  // "entities": "good" is B-GOOD and "bad" B-BAD, any other token O, where each occurs once; "answers": an answer
  // begins with "good" and ends with "film".
  bool token_heads = false;
  std::vector<std::string> labels = {"neg", "neu", "pos"};  // of "sentiment"; none: it has no names
  bool token_types = false;  // a token of the second text counts twice as much as a "good", whatever it is
  bool embedding = false;    // mean, divided by its length
  bool static_rows = false;  // no layers: a vector is the mean of the tokens' own rows, pads and [UNK] left out
  uint32_t characters_per_token = 0;
  std::vector<std::pair<std::string, std::string>> prompts = {};  // names and texts
  int default_prompt = -1;
  bool excludes_prompt = false;
  bool vectors = false;     // reads vectors instead of tokens, with a row of zeros before them
  bool mask_token = true;   // the tokenizer has one
  bool not_finite = false;  // the embedding of "plot" has a NaN; the MLM head has a table of its own, without NaN
  linformer::ElementType type = linformer::ElementType::f32;  // of the weights
};

// ids: [PAD] 0 [UNK] 1 [CLS] 2 [SEP] 3 [MASK] 4 good 5 bad 6 film 7 a 8 the 9 . 10 , 11 plot 12
inline const std::vector<std::string> sentiment_words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad",
                                                         "film",  "a",     "the",   ".",     ",",      "plot"};
inline constexpr uint32_t sentiment_width = 16;

void write_sentiment_model(const SentimentModel& shape, const std::string& path);

// A folder that lives as long as the test.
class Folder : public TemporaryFolder {
 public:
  // Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& content) const;
  // Names in the folder.
  std::vector<std::string> names() const;
};

// A folder with the model in it.
class CliFixture : public Folder {
 public:
  explicit CliFixture(const SentimentModel& shape = {}) { write_sentiment_model(shape, model()); }
  std::string model() const { return path("model.lnfr"); }
};

}  // namespace linformer_test
