// Static embeddings. Such a model has a table with a row for each token, and embeds a text as the mean of its tokens'
// rows. The dialects are the module StaticEmbedding of sentence-transformers, and model2vec, which also leaves out
// unknown tokens and limits the characters of a text.
// Source: UKPLab/sentence-transformers, StaticEmbedding (v3.2 to v6); MinishLab/model2vec, StaticModel (v0.1 to v0.10).
#pragma once

#include "converter/dialects/dialect.h"
#include "converter/tokenizers/tokenizer_files.h"

namespace linformer::convert {

class StaticEmbedding : public Dialect {
 public:
  const char* name() const override { return "static-embedding"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  bool may_be_below_prefix() const override { return false; }
  void convert(Conversion& conversion) const override;
};

class Model2Vec : public Dialect {
 public:
  const char* name() const override { return "model2vec"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  bool may_be_below_prefix() const override { return false; }
  void convert(Conversion& conversion) const override;
};

// The setting with the number of tokens to which tokenizer.json cuts a text.
inline constexpr const char* tokenizer_length_setting = "tokenizer_max_length";

// Adjusts the tokenizer in the description of a static embedding: no special tokens are put around texts. For
// model2vec, unknown tokens are also ignored, and the number of characters that are read is limited. Does nothing for a
// model with encoder layers or without a tokenizer.
void adjust_static_embedding_tokenizer(ModelDescription* description, Report* report);

}  // namespace linformer::convert
