// The Linformer of transformers' pull request 10587, which was closed and never merged: BERT's layout with a projection
// for each head, of keys and values whose masked rows are zero.
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
