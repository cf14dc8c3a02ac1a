// Static embeddings: a row for each token, and of a text the mean of its tokens' rows. As the module StaticEmbedding of
// sentence-transformers, and as model2vec, which leaves unknown tokens out and cuts texts by their characters, too.
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
  bool lies_below_prefixes() const override { return false; }
  void convert(Conversion& conversion) const override;
};

class Model2Vec : public Dialect {
 public:
  const char* name() const override { return "model2vec"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  bool lies_below_prefixes() const override { return false; }
  void convert(Conversion& conversion) const override;
};

// The setting that says how many tokens of a text tokenizer.json keeps.
inline constexpr const char* tokenizer_length_setting = "tokenizer_max_length";

// What a static embedding's tokenizer does not do, or does besides, once the description has it: nothing is put around
// texts, and model2vec drops unknown tokens. Other models stay as they are.
void finish_static_embedding(ModelDescription* description, Report* report);

}  // namespace linformer::convert
