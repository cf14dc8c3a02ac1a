#include "model/validate.h"

#include "base/description.h"
#include "model/utf8.h"

namespace LINFORMER_NAMESPACE {

Status validate(const ModelDescription& model, uint64_t segment_bytes) {
  if (!is_printable_name(model.producer)) return bad_field(FieldName("producer"), "is not printable UTF-8");
  if (!is_printable_name(model.dialect)) return bad_field(FieldName("dialect"), "is not printable UTF-8");
  LINFORMER_TRY(validate_tensors(model, segment_bytes));
  const TensorFields tensors(model.tensors);
  LINFORMER_TRY(validate_encoder(model.encoder, tensors));
  if (model.has_decoder()) {
    LINFORMER_TRY(validate_encoder(model.decoder, tensors));
    const uint64_t width = output_width(model.encoder, tensors);
    if (model.decoder.encoder_states_width != width) {
      return bad_field(FieldName("decoder.encoder_states_width"), "is %u, the encoder gives rows of %llu",
                       model.decoder.encoder_states_width, static_cast<unsigned long long>(width));
    }
  } else if (model.decoder.d_model != 0) {
    return bad_field(FieldName("decoder.layers"), "has no entries");
  }
  LINFORMER_TRY(validate_heads(model));
  const TensorIndex token_types = model.encoder.embedding.token_types;
  const uint64_t types = token_types == absent ? 2 : model.tensors[static_cast<size_t>(token_types)].shape[0];
  return validate_tokenizer(model.tokenizer, model.encoder.vocab_size, types);
}

}  // namespace LINFORMER_NAMESPACE
