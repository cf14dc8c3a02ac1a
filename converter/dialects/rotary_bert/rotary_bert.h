// NomicBERT (nomic-embed-text) and GTE (gte-multilingual, gte-large-en-v1.5, arctic-embed-m-v2): BERT's layers with
// rotary positions and gated networks, in the names of their own code and in those of transformers' ports, with the
// heads that transformers has for them, and sentence-transformers' pooling. Source: huggingface/transformers,
// src/transformers/models/{nomic_bert,gte} and its conversion_mapping.py (v5); for scaled rotary positions
// huggingface/text-embeddings-inference, backends/candle/src/layers/rotary (published semantics of the code on the hub,
// which this project has not run).
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
