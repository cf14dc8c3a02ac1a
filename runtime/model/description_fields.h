// The list of the fields of every table of the metadata. Reading, writing, comparing, JSON and the list in FORMAT.md
// use it.
//
// FieldsOf<T>::visit(visitor, object...) calls the visitor for each field, in the order of schema/linformer.fbs: field
// i lies at entry i of the table's vtable. It takes any number of objects of type T, and passes the same member of all
// of them to one call of the visitor. A field that is absent from a file has its default of description.h, which equals
// the schema's default (tests/format compares all of this with the binary schema). To add a field, add a member with a
// comment to description.h, a field to the schema and a line to this file.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/description.h"
#include "linformer/version.h"
#include "model/limits.h"

namespace LINFORMER_NAMESPACE {

struct Field {
  const char* name;
  uint32_t limit = 0;  // The most entries of a list. Views into the file have no limit.

  constexpr Field at_most(uint32_t entries) const { return {name, entries}; }
};

// The fields of the table T. `table` is the table's name in the schema, `label` its name in errors.
template <class T>
struct FieldsOf;

template <class T>
concept HasFields = requires {
  FieldsOf<T>::label;
};

// The base of visitors. A visitor also needs operator()(field, member...) and, for OPTIONAL fields, optional().
struct FieldVisitor {
  // Called for a field that only the restoration of the checkpoint needs (converter/writer/origin.h), not the runtime.
  static void origin_field(const Field&) {}
};

#define LINFORMER_FIELDS(type, schema_name, sentence_name)  \
  template <>                                               \
  struct FieldsOf<type> {                                   \
    static constexpr const char* table = schema_name;       \
    static constexpr const char* label = sentence_name;     \
    template <class Visitor, class... Object>               \
    static void visit(Visitor& visitor, Object&... object); \
  };                                                        \
  template <class Visitor, class... Object>                 \
  void FieldsOf<type>::visit(Visitor& visitor, Object&... object)

#define FIELD(member, ...) visitor(Field{#member} __VA_OPT__(.) __VA_ARGS__, object.member...)
// A table that is written only if `present`, an expression of `object`, is true.
#define OPTIONAL(member, present, ...) \
  visitor.optional(Field{#member} __VA_OPT__(.) __VA_ARGS__, {(present)...}, object.member...)

LINFORMER_FIELDS(TensorDescription, "Tensor", "tensor") {
  FIELD(name);
  FIELD(type);
  FIELD(layout);
  FIELD(shape, at_most(max_rank));
  FIELD(offset);
  FIELD(bytes);
  FIELD(checksum);
}

LINFORMER_FIELDS(Linear, "Linear", "linear") {
  FIELD(weight);
  FIELD(bias);
}

LINFORMER_FIELDS(Norm, "Norm", "norm") {
  FIELD(scale);
  FIELD(bias);
  FIELD(epsilon);
  FIELD(kind);
}

LINFORMER_FIELDS(Projection, "Projection", "projection") {
  FIELD(kind);
  FIELD(order);
  FIELD(k);
  FIELD(weight);
  FIELD(bias);
  FIELD(kernel);
  FIELD(stride);
  FIELD(length_scale);
  FIELD(span);
  FIELD(exact_tokens, at_most(max_exact_tokens));
}

LINFORMER_FIELDS(AttentionDescription, "Attention", "attention") {
  FIELD(heads);
  FIELD(kv_heads);
  FIELD(head_dim);
  FIELD(scale);
  FIELD(query);
  FIELD(key);
  FIELD(value);
  FIELD(output);
  FIELD(output_second);
  FIELD(value_is_key);
  FIELD(causal);
  FIELD(key_projections, at_most(max_heads));
  FIELD(value_projections, at_most(max_heads));
  FIELD(key_source);
  FIELD(row_mask);
  FIELD(output_activation);
  FIELD(rotary_base);
  FIELD(window);
  FIELD(position_bias);
  FIELD(rotary_scale);
  OPTIONAL(query_norm, object.query_norm.present());
  OPTIONAL(key_norm, object.key_norm.present());
}

LINFORMER_FIELDS(LayerDescription, "Layer", "layer") {
  FIELD(attention);
  FIELD(attention_norm);
  FIELD(attention_resample);
  FIELD(ffn_in);
  FIELD(ffn_out);
  FIELD(ffn_norm);
  FIELD(ffn_resample);
  FIELD(activation);
  FIELD(gated);
  OPTIONAL(outer_norm, object.outer_norm.present());
}

LINFORMER_FIELDS(VectorInput, "VectorInput", "vectors") {
  FIELD(width);
  FIELD(norm_in);
  FIELD(linear);
  FIELD(norm_out);
}

LINFORMER_FIELDS(EmbeddingDescription, "Embedding", "embedding") {
  FIELD(tokens);
  FIELD(position_kind);
  FIELD(positions);
  FIELD(position_offset);
  FIELD(position_base);
  FIELD(positions_count_non_pad);
  FIELD(pad_position);
  FIELD(token_types);
  FIELD(scale);
  FIELD(factor);
  FIELD(norm);
  FIELD(transform);
  FIELD(transform_before_norm);
  FIELD(zero_pad_rows);
  FIELD(vectors);
  FIELD(prefix);
  FIELD(prefix_token);
  FIELD(norm_before_factor);
}

LINFORMER_FIELDS(EncoderDescription, "Encoder", "encoder") {
  FIELD(d_model);
  FIELD(max_tokens);
  FIELD(vocab_size);
  FIELD(pad_id);
  FIELD(norm_placement);
  FIELD(residual);
  FIELD(embedding);
  FIELD(projections, at_most(max_projections));
  FIELD(layers, at_most(max_layers));
  FIELD(final_norm);
  FIELD(output);
  FIELD(zero_masked_rows);
  FIELD(encoder_states_width);
}

LINFORMER_FIELDS(MaskedLmHead, "MaskedLmHead", "mlm") {
  FIELD(dense);
  FIELD(activation);
  FIELD(norm);
  FIELD(output);
}

// A label of a ClassificationHead.
template <>
struct FieldsOf<String> {
  static constexpr const char* table = "Label";
  static constexpr const char* label = "label";
  template <class Visitor, class... Object>
  static void visit(Visitor& visitor, Object&... object) {
    visitor(Field{"text"}, object...);
  }
};

LINFORMER_FIELDS(ClassificationHead, "ClassificationHead", "head") {
  FIELD(name);
  FIELD(pooling);
  FIELD(dense);
  FIELD(activation);
  FIELD(output);
  FIELD(kind);
  FIELD(labels, at_most(max_classes));
  FIELD(norm);
  FIELD(pairing);
  FIELD(score_activation);
  FIELD(norm_after_dense);
}

LINFORMER_FIELDS(Prompt, "Prompt", "prompt") {
  FIELD(name);
  FIELD(text);
}

LINFORMER_FIELDS(SentenceEmbedding, "SentenceEmbedding", "embedding") {
  FIELD(pooling);
  FIELD(dense);
  FIELD(activation);
  FIELD(normalize);
  FIELD(norm);
  FIELD(prompts, at_most(max_prompts));
  FIELD(default_prompt);
  FIELD(excludes_prompt);
  FIELD(characters_per_token);
}

LINFORMER_FIELDS(AddedToken, "AddedToken", "added token") {
  FIELD(content);
  FIELD(id);
  FIELD(special);
  FIELD(single_word);
  FIELD(strip_left);
  FIELD(strip_right);
  FIELD(normalized);
}

LINFORMER_FIELDS(NormalizerStep, "NormalizerStep", "normalizer") {
  FIELD(kind);
  FIELD(pattern);
  FIELD(content);
}

LINFORMER_FIELDS(SplitStep, "SplitStep", "split") {
  FIELD(kind);
  FIELD(behavior);
  FIELD(pattern);
}

LINFORMER_FIELDS(TokenizerRules, "TokenizerRules", "tokenizer.rules") {
  FIELD(sentencepiece);
  FIELD(steps, at_most(max_normalizer_steps));
  FIELD(charsmap);
  FIELD(token_uses);
  FIELD(exact_scores);
  FIELD(split_white_space);
  FIELD(mark_spaces);
  FIELD(split_words);
  FIELD(prefix_mark);
  FIELD(remove_extra_spaces);
  FIELD(mark_behind);
  FIELD(byte_fallback);
  FIELD(splits, at_most(max_split_steps));
  FIELD(keep_parts);
  FIELD(fuse_unknown);
  FIELD(ignore_merges);
}

LINFORMER_FIELDS(TokenizerDescription, "Tokenizer", "tokenizer") {
  FIELD(kind);
  FIELD(token_bytes);
  FIELD(token_offsets);
  FIELD(token_ids);
  FIELD(merges);
  FIELD(scores);
  FIELD(added_tokens, at_most(max_added_tokens));
  FIELD(unk);
  FIELD(bos);
  FIELD(eos);
  FIELD(pad);
  FIELD(mask);
  FIELD(single_template, at_most(max_template_entries));
  FIELD(pair_template, at_most(max_template_entries));
  FIELD(pair_types, at_most(max_template_entries));
  FIELD(add_prefix_space);
  FIELD(trim_offsets);
  FIELD(lowercase);
  FIELD(strip_accents);
  FIELD(clean_text);
  FIELD(split_cjk);
  FIELD(continuing_prefix);
  FIELD(max_word_characters);
  OPTIONAL(rules, object.kind == TokenizerKind::unigram || object.rules.has_bpe_rules());
  FIELD(first_space);
}

LINFORMER_FIELDS(ModelDescription, "Model", "model") {
  FIELD(producer);
  FIELD(dialect);
  FIELD(tensors, at_most(max_tensors));
  FIELD(encoder);
  FIELD(mlm);
  FIELD(heads, at_most(max_classification_heads));
  FIELD(tokenizer);
  OPTIONAL(embedding, object.embedding.present);
  OPTIONAL(decoder, object.has_decoder());
  visitor.origin_field({"sources"});
  visitor.origin_field({"settings"});
}

#undef OPTIONAL
#undef FIELD
#undef LINFORMER_FIELDS

}  // namespace LINFORMER_NAMESPACE
