// lucidrains/linformer (PyPI `linformer`): LinformerLM, Linformer and LinformerSelfAttention.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Lucidrains : public Dialect {
 public:
  const char* name() const override { return "lucidrains"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void check_tensors_outside_prefix(const Checkpoint& checkpoint, const std::string& prefix) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
