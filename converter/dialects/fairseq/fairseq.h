// fairseq's examples/linformer, by the authors of the Linformer paper: RoBERTa encoders whose keys and values are
// compressed.
// Source: facebookresearch/fairseq, examples/linformer at commits a524832d (2020-09-28), bf54551c (2021-01-20),
// 54423d3b (2021-02-16) and 3d262bb2 (2025-09-30).
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Fairseq : public Dialect {
 public:
  const char* name() const override { return "fairseq"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
