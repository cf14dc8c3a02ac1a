// linformer-pytorch (PyPI), by tatp22: Linformer, LinformerLM and LinformerEncDec.
// Source: tatp22/linformer-pytorch at commits 3ecfc0e4 (0.19.3, post-norm) and 3e824a7 (2020-09-12, pre-norm).
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Tatp22 : public Dialect {
 public:
  const char* name() const override { return "tatp22"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void check_tensors_outside_prefix(const Checkpoint& checkpoint, const std::string& prefix) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
