// xformers (Meta): one multi-head attention, MultiHeadDispatch with LinformerAttention.
// Source: facebookresearch/xformers at commit 279e0833, the last one with this class, and its input projections of
// 2021 (packed in one matrix).
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class Xformers : public Dialect {
 public:
  const char* name() const override { return "xformers"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
