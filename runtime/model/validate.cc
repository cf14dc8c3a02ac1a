#include "model/validate.h"

#include "model/utf8.h"

namespace linformer {

Status validate(const ModelDescription& model, uint64_t segment_bytes) {
  if (!is_printable_name(model.producer)) return bad_field(FieldName("producer"), "is not printable UTF-8");
  if (!is_printable_name(model.dialect)) return bad_field(FieldName("dialect"), "is not printable UTF-8");
  LINFORMER_TRY(validate_tensors(model, segment_bytes));
  LINFORMER_TRY(validate_encoder(model));
  LINFORMER_TRY(validate_heads(model));
  const TensorIndex token_types = model.encoder.embedding.token_types;
  const uint64_t types = token_types == absent ? 2 : model.tensors[static_cast<size_t>(token_types)].shape[0];
  return validate_tokenizer(model.tokenizer, model.encoder.vocab_size, types);
}

}  // namespace linformer
