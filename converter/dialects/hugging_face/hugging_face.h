// Hugging Face transformers: BERT, RoBERTa (with XLM-RoBERTa and CamemBERT), DistilBERT, MPNet, ELECTRA, ALBERT,
// RoFormer and JinaBERT encoders with full attention, their masked-LM, sequence, token and question-answering heads,
// and sentence-transformers' pooling.
// Source: huggingface/transformers, src/transformers/models/{bert,roberta,distilbert,mpnet,electra,albert} (v4 and v5).
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

class HuggingFace : public Dialect {
 public:
  const char* name() const override { return "hugging-face"; }
  DialectFacts facts() const override;
  Recognition recognise(const Checkpoint& checkpoint) const override;
  bool may_be_linearised() const override { return true; }
  void convert(Conversion& conversion) const override;
};

}  // namespace linformer::convert
