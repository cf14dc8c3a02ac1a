// ModernBERT and its family (gte-modernbert, granite-embedding-r2, Ettin's encoders, mmBERT): full attention that is
// within a window in most layers, rotary positions of two bases, gated networks, norms before each half of a layer.
// With the masked-LM, sequence, token and question-answering heads of transformers. Source: huggingface/transformers,
// src/transformers/models/modernbert (v4.48 to v5).
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
