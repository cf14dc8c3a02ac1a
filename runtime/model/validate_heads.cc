#include <cinttypes>

#include "base/description.h"
#include "model/limits.h"
#include "model/utf8.h"
#include "model/validate.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Returns the encoder or decoder whose rows the heads read.
const EncoderDescription& last_encoder(const ModelDescription& model) {
  return model.has_decoder() ? model.decoder : model.encoder;
}

// Checks mlm.output, whose weight is [vocab_size, width]: in panel16 as the weight of any Linear, or the token
// embedding itself.
Status check_vocabulary_output(const ModelDescription& model, const TensorFields& tensors, uint64_t width) {
  const Linear& output = model.mlm.output;
  const uint32_t vocab_size = last_encoder(model).vocab_size;
  const FieldName field("mlm.output");
  if (output.weight != last_encoder(model).embedding.tokens)
    return tensors.check_linear(field, output, width, vocab_size);
  uint64_t rows = 0;
  LINFORMER_TRY(tensors.check_table(field / "weight", output.weight, width, &rows));
  if (output.bias == absent) return {};
  return tensors.check_f32_tensor(field / "bias", output.bias, {vocab_size});
}

Status check_masked_lm(const ModelDescription& model, const TensorFields& tensors) {
  const MaskedLmHead& mlm = model.mlm;
  const FieldName dense("mlm.dense"), norm("mlm.norm");
  if (!mlm.present()) {
    constexpr const char* reason = "belongs to a model without mlm.output";
    LINFORMER_TRY(TensorFields::must_be_absent(FieldName("mlm.output"), mlm.output, "has no weight"));
    LINFORMER_TRY(TensorFields::must_be_absent(dense, mlm.dense, reason));
    return TensorFields::must_be_absent(norm, mlm.norm, reason);
  }
  if (last_encoder(model).vocab_size == 0) return bad_field(FieldName("mlm"), "belongs to a model without tokens");
  if (last_encoder(model).layers.empty()) return bad_field(FieldName("mlm"), "belongs to a model without layers");
  uint64_t width = output_width(last_encoder(model), tensors);
  if (mlm.dense.present()) {
    uint64_t out = 0;
    LINFORMER_TRY(tensors.check_linear(dense, mlm.dense, width, &out));
    width = out;
    LINFORMER_TRY(tensors.check_norm(norm, mlm.norm, width));
  } else {
    LINFORMER_TRY(TensorFields::must_be_absent(dense, mlm.dense, "has no weight"));
    LINFORMER_TRY(TensorFields::must_be_absent(norm, mlm.norm, "belongs to a head without mlm.dense"));
  }
  return check_vocabulary_output(model, tensors, width);
}

// Checks the number of outputs and score_activation against the head's kind.
Status check_kind(const FieldName& field, const ClassificationHead& head, uint64_t outputs) {
  if (head.kind == HeadKind::single_label && outputs == 1) {
    return bad_field(field / "kind", "is single_label, but there is one output, whose softmax is always 1");
  }
  if (head.kind == HeadKind::score && outputs != 1) {
    return bad_field(field / "kind", "is score, which has one output, but there are %" PRIu64, outputs);
  }
  if (head.kind != HeadKind::score && head.score_activation != Activation::none) {
    return bad_field(field / "score_activation", "is set, but the head's kind is not score");
  }
  return {};
}

Status check_classification_head(const ModelDescription& model, const TensorFields& tensors, size_t index) {
  const ClassificationHead& head = model.heads[index];
  if (!is_printable_name(head.name)) {
    return bad_field(FieldName("heads[%zu].name", index), "is empty, too long or not printable UTF-8");
  }
  for (size_t other = 0; other < index; ++other) {
    if (model.heads[other].name == head.name) {
      return bad_field(FieldName("heads[%zu].name", index), "is the name of head %zu too (%.80s)", other,
                       head.name.c_str());
    }
  }
  const FieldName field("heads[%zu] (%.60s)", index, head.name.c_str());
  uint64_t width = output_width(last_encoder(model), tensors), classes = 0;
  if (head.pooling == Pooling::none && last_encoder(model).layers.empty()) {
    return bad_field(field / "pooling", "scores each token of a model without layers");
  }
  if (head.pairing == Pairing::product_difference) {
    if (head.pooling == Pooling::none) return bad_field(field / "pairing", "pairs texts, but nothing is pooled");
    width *= 4;
  }
  if (head.norm_after_dense && !head.dense.present()) {
    return bad_field(field / "norm_after_dense", "is true, but there is no dense");
  }
  if (!head.norm_after_dense) LINFORMER_TRY(tensors.check_norm(field / "norm", head.norm, width));
  if (head.dense.present()) {
    uint64_t inner = 0;
    LINFORMER_TRY(tensors.check_linear(field / "dense", head.dense, width, &inner));
    width = inner;
  } else {
    LINFORMER_TRY(TensorFields::must_be_absent(field / "dense", head.dense, "has no weight"));
  }
  if (head.norm_after_dense) LINFORMER_TRY(tensors.check_norm(field / "norm", head.norm, width));
  LINFORMER_TRY(tensors.check_linear(field / "output", head.output, width, &classes));
  if (classes > max_classes) {
    return bad_field(field / "output", "has %" PRIu64 " classes, at most %" PRIu32 " are possible", classes,
                     max_classes);
  }
  LINFORMER_TRY(check_kind(field, head, classes));
  if (!head.labels.empty() && head.labels.size() != classes) {
    return bad_field(field / "labels", "has %zu entries for %" PRIu64 " classes", head.labels.size(), classes);
  }
  for (size_t i = 0; i < head.labels.size(); ++i) {
    if (!is_printable_name(head.labels[i])) {
      return bad_field(field / "labels", "has an entry (%zu) that is empty, too long or not printable UTF-8", i);
    }
  }
  return {};
}

Status check_prompts(const SentenceEmbedding& embedding) {
  const Array<Prompt>& prompts = embedding.prompts;
  if (prompts.size() > max_prompts) {
    return bad_field(FieldName("embedding.prompts"), "has %zu entries, at most %" PRIu32 " are possible",
                     prompts.size(), max_prompts);
  }
  for (size_t i = 0; i < prompts.size(); ++i) {
    const FieldName field("embedding.prompts[%zu]", i);
    if (!is_printable_name(prompts[i].name)) {
      return bad_field(field / "name", "is empty, too long or not printable UTF-8");
    }
    if (prompts[i].text.size() > max_prompt_bytes || !is_utf8(prompts[i].text)) {
      return bad_field(field / "text", "has %zu bytes, at most %zu are possible, or is not UTF-8",
                       prompts[i].text.size(), max_prompt_bytes);
    }
    for (size_t other = 0; other < i; ++other) {
      if (prompts[other].name != prompts[i].name) continue;
      return bad_field(field / "name", "is the name of prompt %zu too (%.80s)", other, prompts[other].name.c_str());
    }
  }
  if (embedding.default_prompt < -1 || embedding.default_prompt >= static_cast<int64_t>(prompts.size())) {
    return bad_field(FieldName("embedding.default_prompt"), "is %" PRId32 ", there are %zu prompts",
                     embedding.default_prompt, prompts.size());
  }
  if (embedding.characters_per_token > max_dimension) {
    return bad_field(FieldName("embedding.characters_per_token"), "is %" PRIu32 ", at most %" PRIu32 " is possible",
                     embedding.characters_per_token, max_dimension);
  }
  return {};
}

Status check_sentence_embedding(const ModelDescription& model, const TensorFields& tensors) {
  const SentenceEmbedding& embedding = model.embedding;
  const FieldName dense("embedding.dense");
  if (embedding.pooling == Pooling::none) return bad_field(FieldName("embedding.pooling"), "is none");
  uint64_t width = output_width(last_encoder(model), tensors);
  if (!embedding.dense.present()) {
    if (embedding.activation != Activation::none)
      return bad_field(FieldName("embedding.activation"), "is set, but there is no dense");
    LINFORMER_TRY(TensorFields::must_be_absent(dense, embedding.dense, "has no weight"));
  } else {
    uint64_t outputs = 0;
    LINFORMER_TRY(tensors.check_linear(dense, embedding.dense, width, &outputs));
    width = outputs;
  }
  LINFORMER_TRY(tensors.check_norm(FieldName("embedding.norm"), embedding.norm, width));
  return check_prompts(embedding);
}

}  // namespace

Status validate_heads(const ModelDescription& model) {
  const TensorFields tensors(model.tensors);
  LINFORMER_TRY(check_masked_lm(model, tensors));
  LINFORMER_TRY(check_sentence_embedding(model, tensors));
  if (model.heads.size() > max_classification_heads) {
    return bad_field(FieldName("heads"), "has %zu entries, at most %" PRIu32 " are possible", model.heads.size(),
                     max_classification_heads);
  }
  for (size_t i = 0; i < model.heads.size(); ++i) LINFORMER_TRY(check_classification_head(model, tensors, i));
  return {};
}

}  // namespace LINFORMER_NAMESPACE
