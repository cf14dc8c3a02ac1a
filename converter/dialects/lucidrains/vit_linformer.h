// vit-pytorch's efficient ViT around lucidrains' Linformer: a model that takes patches of an image and returns classes.
// Source: lucidrains/vit-pytorch at commit 69d24fe9.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class VitLinformer : public Dialect {
 public:
  const char* name() const override { return "vit_linformer"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
