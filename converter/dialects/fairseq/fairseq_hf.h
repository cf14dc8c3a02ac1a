// A port of fairseq's Linformer to Hugging Face's RoBERTa classes: a RobertaModel whose self-attention has the
// projections compress_k and compress_v.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class FairseqHf : public Dialect {
 public:
  const char* name() const override { return "fairseq-hf"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
