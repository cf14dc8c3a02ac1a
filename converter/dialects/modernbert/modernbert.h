// ModernBERT and its family (gte-modernbert, granite-embedding-r2, Ettin's encoders, mmBERT), with the masked-LM,
// sequence, token and question-answering heads of transformers. Most layers attend within a window, and the others to
// all rows. Layers have rotary positions with one of two bases, gated feed-forward networks, and a norm before each
// sublayer.
// Source: huggingface/transformers, src/transformers/models/modernbert (v4.48 to v5).
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class ModernBert : public Dialect {
 public:
  const char* name() const override { return "modernbert"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  bool may_be_linearised() const override { return true; }
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
