// NomicBERT (nomic-embed-text) and GTE (gte-multilingual, gte-large-en-v1.5, arctic-embed-m-v2): BERT's layers with
// rotary positions and gated feed-forward networks, the heads that transformers has for them, and
// sentence-transformers' pooling. Names of tensors may be those of the models' own code or of transformers' ports.
// Source: huggingface/transformers, src/transformers/models/{nomic_bert,gte} and its conversion_mapping.py (v5). Scaled
// rotary positions: huggingface/text-embeddings-inference, backends/candle/src/layers/rotary, which reproduces the
// models' own code; this project has not run that code.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class RotaryBert : public Dialect {
 public:
  const char* name() const override { return "rotary-bert"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  bool may_be_linearised() const override { return true; }
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
