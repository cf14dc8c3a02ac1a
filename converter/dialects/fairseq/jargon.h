// Jargon: French Linformer models with RoBERTa's embedding and heads around fairseq's layers. Each sublayer
// (attention, feed-forward network) begins with a norm.
// Source: PantagrueLLM/Jargon, src/jargon (jargon_model.py, jargon_configuration.py at 1b00cde, linformer.py at
// f432626).
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Jargon : public Dialect {
 public:
  const char* name() const override { return "jargon"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
