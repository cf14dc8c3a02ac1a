// PyText (Meta): its RoBERTa encoder with MultiheadLinearAttention, a port of fairseq's Linformer attention.
// Source: facebookresearch/pytext at commit 08754b48.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Pytext : public Dialect {
 public:
  const char* name() const override { return "pytext"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
