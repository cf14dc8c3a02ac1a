// CALD: RoBERTa models whose attention was made linear while they were fine-tuned. Each layer's self-attention has the
// projections proj_k and proj_v. Compressed keys and values are divided by the square root of the text's length.
// Source: idiap/linearize-distill-pretrained-transformers, nlp/linformer_utils.py at e4bd7af (He and Garner,
// arXiv 2410.06846).
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Cald : public Dialect {
 public:
  const char* name() const override { return "cald"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
