// The Linformer of transformers' pull request 10587, which was closed and never merged. It has BERT's layout and
// projections for each head. Masked rows of keys and values are set to zero before they are compressed.
// Source: src/transformers/models/linformer at 1407558b.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class TransformersLinformer : public Dialect {
 public:
  const char* name() const override { return "transformers-linformer"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
