#include "format/same_description.h"

#include <algorithm>
#include <type_traits>

namespace linformer_test {
namespace {

using namespace linformer;

class Comparison {
 public:
  std::string first;  // the first difference

  template <class T>
  void field(const std::string& name, const T& a, const T& b) {
    if (first.empty() && !(a == b)) first = name;
  }
  template <class T>
  void field(const std::string& name, std::span<const T> a, std::span<const T> b) {
    if (first.empty() && !std::equal(a.begin(), a.end(), b.begin(), b.end())) first = name;
  }
  void field(const std::string& name, const Linear& a, const Linear& b) {
    field(name + ".weight", a.weight, b.weight);
    field(name + ".bias", a.bias, b.bias);
  }
  void field(const std::string& name, const Norm& a, const Norm& b) {
    field(name + ".scale", a.scale, b.scale);
    field(name + ".bias", a.bias, b.bias);
    field(name + ".epsilon", a.epsilon, b.epsilon);
  }
  template <class T>
  void list(const std::string& name, const std::vector<T>& a, const std::vector<T>& b) {
    field(name + ".size", a.size(), b.size());
    for (size_t i = 0; first.empty() && i < a.size(); ++i) table(name + "[" + std::to_string(i) + "]", a[i], b[i]);
  }

  void table(const std::string& name, const TensorDescription& a, const TensorDescription& b);
  void table(const std::string& name, const Projection& a, const Projection& b);
  void table(const std::string& name, const LayerDescription& a, const LayerDescription& b);
  void table(const std::string& name, const ClassificationHead& a, const ClassificationHead& b);
  void table(const std::string& name, const AddedToken& a, const AddedToken& b);
  void table(const std::string& name, const NormalizerStep& a, const NormalizerStep& b);
  void attention(const std::string& name, const AttentionDescription& a, const AttentionDescription& b);
  void embedding(const EmbeddingDescription& a, const EmbeddingDescription& b);
  void encoder(const EncoderDescription& a, const EncoderDescription& b);
  void tokenizer(const TokenizerDescription& a, const TokenizerDescription& b);
};

#define COMPARE(member) field(name + "." #member, a.member, b.member)

void Comparison::table(const std::string& name, const TensorDescription& a, const TensorDescription& b) {
  COMPARE(name);
  COMPARE(type);
  COMPARE(layout);
  COMPARE(shape);
  COMPARE(offset);
  COMPARE(bytes);
  COMPARE(checksum);
  COMPARE(scales);
}

void Comparison::table(const std::string& name, const Projection& a, const Projection& b) {
  COMPARE(kind);
  COMPARE(order);
  COMPARE(k);
  COMPARE(weight);
  COMPARE(bias);
  COMPARE(bias_per_row);
  COMPARE(kernel);
  COMPARE(stride);
}

void Comparison::attention(const std::string& name, const AttentionDescription& a, const AttentionDescription& b) {
  COMPARE(heads);
  COMPARE(kv_heads);
  COMPARE(head_dim);
  COMPARE(scale);
  COMPARE(query);
  COMPARE(key);
  COMPARE(value);
  COMPARE(output);
  COMPARE(output_second);
  COMPARE(value_is_key);
  COMPARE(causal);
  COMPARE(row_mask);
  COMPARE(output_activation);
  COMPARE(key_projections);
  COMPARE(value_projections);
  COMPARE(key_source);
}

void Comparison::table(const std::string& name, const LayerDescription& a, const LayerDescription& b) {
  attention(name + ".attention", a.attention, b.attention);
  COMPARE(attention_norm);
  COMPARE(attention_resample);
  COMPARE(ffn_in);
  COMPARE(ffn_out);
  COMPARE(ffn_norm);
  COMPARE(ffn_resample);
  COMPARE(activation);
}

void Comparison::embedding(const EmbeddingDescription& a, const EmbeddingDescription& b) {
  const std::string name = "embedding";
  COMPARE(tokens);
  COMPARE(position_kind);
  COMPARE(positions);
  COMPARE(position_offset);
  COMPARE(position_base);
  COMPARE(positions_count_non_pad);
  COMPARE(pad_position);
  COMPARE(token_types);
  COMPARE(scale);
  COMPARE(factor);
  COMPARE(norm);
  COMPARE(transform);
  COMPARE(transform_before_norm);
  COMPARE(zero_pad_rows);
  COMPARE(vectors.width);
  COMPARE(vectors.norm_in);
  COMPARE(vectors.linear);
  COMPARE(vectors.norm_out);
  COMPARE(prefix);
  COMPARE(prefix_token);
}

void Comparison::encoder(const EncoderDescription& a, const EncoderDescription& b) {
  const std::string name = "encoder";
  COMPARE(d_model);
  COMPARE(max_tokens);
  COMPARE(vocab_size);
  COMPARE(pad_id);
  COMPARE(norm_placement);
  COMPARE(residual);
  embedding(a.embedding, b.embedding);
  list("projections", a.projections, b.projections);
  list("layers", a.layers, b.layers);
  COMPARE(final_norm);
  COMPARE(output);
  COMPARE(zero_masked_rows);
  COMPARE(memory_width);
}

void Comparison::table(const std::string& name, const ClassificationHead& a, const ClassificationHead& b) {
  COMPARE(name);
  COMPARE(pooling);
  COMPARE(dense);
  COMPARE(activation);
  COMPARE(output);
  COMPARE(multi_label);
  COMPARE(labels);
  COMPARE(norm);
  COMPARE(pairing);
}

void Comparison::table(const std::string& name, const AddedToken& a, const AddedToken& b) {
  COMPARE(content);
  COMPARE(id);
  COMPARE(special);
  COMPARE(single_word);
  COMPARE(strip_left);
  COMPARE(strip_right);
  COMPARE(normalized);
}

void Comparison::table(const std::string& name, const NormalizerStep& a, const NormalizerStep& b) {
  COMPARE(kind);
  COMPARE(pattern);
  COMPARE(content);
}

void Comparison::tokenizer(const TokenizerDescription& a, const TokenizerDescription& b) {
  const std::string name = "tokenizer";
  COMPARE(kind);
  COMPARE(token_bytes);
  COMPARE(token_offsets);
  COMPARE(token_ids);
  COMPARE(merges);
  COMPARE(scores);
  list("added_tokens", a.added_tokens, b.added_tokens);
  COMPARE(unk);
  COMPARE(bos);
  COMPARE(eos);
  COMPARE(pad);
  COMPARE(mask);
  COMPARE(single_template);
  COMPARE(pair_template);
  COMPARE(pair_types);
  COMPARE(add_prefix_space);
  COMPARE(trim_offsets);
  COMPARE(lowercase);
  COMPARE(strip_accents);
  COMPARE(clean_text);
  COMPARE(split_cjk);
  COMPARE(continuing_prefix);
  COMPARE(max_word_characters);
  COMPARE(unigram.sentencepiece);
  list("unigram.steps", a.unigram.steps, b.unigram.steps);
  COMPARE(unigram.charsmap);
  COMPARE(unigram.token_uses);
  COMPARE(unigram.exact_scores);
  COMPARE(unigram.split_white_space);
  COMPARE(unigram.mark_spaces);
  COMPARE(unigram.split_words);
  COMPARE(unigram.prefix_mark);
  COMPARE(unigram.remove_extra_spaces);
  COMPARE(unigram.mark_behind);
  COMPARE(unigram.byte_fallback);
}

#undef COMPARE

}  // namespace

std::string difference(const ModelDescription& a, const ModelDescription& b) {
  Comparison comparison;
  comparison.field("producer", a.producer, b.producer);
  comparison.field("dialect", a.dialect, b.dialect);
  comparison.list("tensors", a.tensors, b.tensors);
  comparison.encoder(a.encoder, b.encoder);
  comparison.field("mlm.dense", a.mlm.dense, b.mlm.dense);
  comparison.field("mlm.activation", a.mlm.activation, b.mlm.activation);
  comparison.field("mlm.norm", a.mlm.norm, b.mlm.norm);
  comparison.field("mlm.output", a.mlm.output, b.mlm.output);
  comparison.list("heads", a.heads, b.heads);
  comparison.tokenizer(a.tokenizer, b.tokenizer);
  comparison.field("embedding.present", a.embedding.present, b.embedding.present);
  comparison.field("embedding.pooling", a.embedding.pooling, b.embedding.pooling);
  comparison.field("embedding.dense", a.embedding.dense, b.embedding.dense);
  comparison.field("embedding.activation", a.embedding.activation, b.embedding.activation);
  comparison.field("embedding.normalize", a.embedding.normalize, b.embedding.normalize);
  comparison.field("decoder", a.has_decoder(), b.has_decoder());
  if (a.has_decoder() && b.has_decoder()) comparison.encoder(a.decoder, b.decoder);
  return comparison.first;
}

}  // namespace linformer_test
