#include "converter/dialects/hugging_face/vocabulary.h"

#include "base/description.h"
#include "converter/readers/error.h"

namespace linformer::convert::hugging_face {

const Tensor& token_embedding(TensorTable& tensors, const Settings& settings, const char* tokens, const char* output) {
  if (const Tensor* found = tensors.use(tokens)) return *found;
  const Tensor* tied = tensors.use(output);
  const std::optional<Setting<bool>> tie = settings.flag("tie_word_embeddings");
  if (tied == nullptr || (tie && !tie->value)) return tensors.need(tokens);
  return *tied;
}

void add_vocabulary_output(Conversion& conversion, TensorTable& tensors, const Settings& settings, const char* tokens,
                           const char* output, Size width) {
  const EncoderDescription& encoder = conversion.description.encoder;
  MaskedLmHead& mlm = conversion.description.mlm;
  const std::optional<Setting<bool>> tie = settings.flag("tie_word_embeddings");
  const bool own = tie && !tie->value;
  const Tensor* weight = tensors.use(output);
  if (weight == nullptr) {
    if (own) fail("the setting tie_word_embeddings is false (", tie->source, "), but there is no tensor ", output);
    weight = &tensors.need(tokens);
  }
  const std::optional<TensorIndex> tied =
      conversion.weights.index_if_tied("mlm.output.weight", *weight, encoder.embedding.tokens);
  if (!tied && !own) {
    fail("the tensor ", quote(weight->name),
         " differs from the token embedding, to which it should be tied: if the model has separate weights, give the "
         "setting {\"tie_word_embeddings\": false}");
  }
  if (tied) {
    mlm.output.weight = *tied;
  } else {
    mlm.output = conversion.weights.linear("mlm.output", *weight, nullptr, {encoder.vocab_size, "vocabulary"}, width);
  }
  conversion.report.add_fact("masked-LM head", tied ? "tied to the token embedding" : "with weights of its own",
                             "values of " + weight->name);
}

}  // namespace linformer::convert::hugging_face
