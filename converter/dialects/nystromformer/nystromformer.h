// Linformer in mlpen/Nystromformer and its copies (YOSO, Skyformer, NVIDIA's transformer-ls): the models of the
// long-range-arena code, and the BERT models.
// Source: mlpen/Nystromformer at commit 56893131 (LRA/code, code, reorganized_code), pkuzengqi/Skyformer at 1a677cb1,
// NVIDIA/transformer-ls at 1527c5cc.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Nystromformer : public Dialect {
 public:
  const char* name() const override { return "nystromformer"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
