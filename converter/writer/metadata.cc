#include "converter/writer/metadata.h"

#include <algorithm>
#include <string>

#include "converter/writer/write_error.h"
#include "io/container.h"
#include "model/flatbuffers_compat.h"

namespace linformer::writer {
namespace {

using flatbuffers::Offset;

class Serializer {
 public:
  Serializer() { builder_.ForceDefaults(true); }
  std::vector<std::byte> model(const ModelDescription& in, const Origin& origin);

 private:
  Offset<schema::Linear> linear(const Linear& in) { return schema::CreateLinear(builder_, in.weight, in.bias); }
  Offset<schema::Norm> norm(const Norm& in) { return schema::CreateNorm(builder_, in.scale, in.bias, in.epsilon); }
  Offset<flatbuffers::String> text(const std::string& in) { return builder_.CreateString(in.data(), in.size()); }
  template <class T>
  auto numbers(const std::vector<T>& in) {
    return builder_.CreateVector(in.data(), in.size());
  }
  template <class Out, class T>
  auto large(std::span<const T> in) {
    static_assert(sizeof(Out) == sizeof(T));
    return builder_.CreateVector(reinterpret_cast<const Out*>(in.data()), in.size());
  }
  template <class Out, class In, class Write>
  auto tables(const std::vector<In>& in, Write write) {
    std::vector<Offset<Out>> offsets;
    offsets.reserve(in.size());
    for (const In& item : in) offsets.push_back(write(item));
    return builder_.CreateVector(offsets);
  }

  Offset<schema::Tensor> tensor(const TensorDescription& in);
  Offset<schema::Projection> projection(const Projection& in);
  Offset<schema::Attention> attention(const AttentionDescription& in);
  Offset<schema::Layer> layer(const LayerDescription& in);
  Offset<schema::Embedding> embedding(const EmbeddingDescription& in);
  Offset<schema::Encoder> encoder(const EncoderDescription& in);
  Offset<schema::MaskedLmHead> masked_lm(const MaskedLmHead& in);
  Offset<schema::ClassificationHead> head(const ClassificationHead& in);
  Offset<schema::SentenceEmbedding> sentence_embedding(const SentenceEmbedding& in);
  Offset<schema::SourceTensor> source(const SourceTensor& in);
  Offset<schema::AddedToken> added_token(const AddedToken& in);
  Offset<schema::Unigram> unigram(const UnigramDescription& in);
  Offset<schema::Tokenizer> tokenizer(const TokenizerDescription& in);

  flatbuffers::FlatBufferBuilder builder_;
};

Offset<schema::Tensor> Serializer::tensor(const TensorDescription& in) {
  const auto name = text(in.name);
  const auto shape = numbers(in.shape);
  return schema::CreateTensor(builder_, name, static_cast<schema::ElementType>(in.type),
                              static_cast<schema::TensorLayout>(in.layout), shape, in.offset, in.bytes, in.checksum,
                              in.scales);
}

Offset<schema::Projection> Serializer::projection(const Projection& in) {
  return schema::CreateProjection(builder_, static_cast<schema::ProjectionKind>(in.kind),
                                  static_cast<schema::ProjectionOrder>(in.order), in.k, in.weight, in.bias,
                                  in.bias_per_row, in.kernel, in.stride);
}

Offset<schema::Attention> Serializer::attention(const AttentionDescription& in) {
  const auto query = linear(in.query), key = linear(in.key), value = linear(in.value), output = linear(in.output),
             output_second = linear(in.output_second);
  const auto key_projections = numbers(in.key_projections);
  const auto value_projections = numbers(in.value_projections);
  return schema::CreateAttention(
      builder_, in.heads, in.kv_heads, in.head_dim, in.scale, query, key, value, output, output_second, in.value_is_key,
      in.causal, false, false, key_projections, value_projections, static_cast<schema::KeySource>(in.key_source),
      static_cast<schema::RowMask>(in.row_mask), static_cast<schema::Activation>(in.output_activation));
}

Offset<schema::Layer> Serializer::layer(const LayerDescription& in) {
  const auto attention_table = attention(in.attention);
  const auto attention_norm = norm(in.attention_norm);
  const auto attention_resample = linear(in.attention_resample);
  const auto ffn_in = linear(in.ffn_in), ffn_out = linear(in.ffn_out);
  const auto ffn_norm = norm(in.ffn_norm);
  const auto ffn_resample = linear(in.ffn_resample);
  return schema::CreateLayer(builder_, attention_table, attention_norm, attention_resample, ffn_in, ffn_out, ffn_norm,
                             ffn_resample, static_cast<schema::Activation>(in.activation));
}

Offset<schema::Embedding> Serializer::embedding(const EmbeddingDescription& in) {
  const auto factor = linear(in.factor);
  const auto norm_table = norm(in.norm);
  const auto transform = linear(in.transform);
  const auto norm_in = norm(in.vectors.norm_in), norm_out = norm(in.vectors.norm_out);
  const auto vector_linear = linear(in.vectors.linear);
  const auto vectors = schema::CreateVectorInput(builder_, in.vectors.width, norm_in, vector_linear, norm_out);
  return schema::CreateEmbedding(builder_, in.tokens, static_cast<schema::PositionKind>(in.position_kind), in.positions,
                                 in.position_offset, in.position_base, in.positions_count_non_pad, in.pad_position,
                                 in.token_types, in.scale, factor, norm_table, transform, in.transform_before_norm,
                                 in.zero_pad_rows, vectors, in.prefix, in.prefix_token);
}

Offset<schema::Encoder> Serializer::encoder(const EncoderDescription& in) {
  const auto embedding_table = embedding(in.embedding);
  const auto projections =
      tables<schema::Projection>(in.projections, [&](const Projection& item) { return projection(item); });
  const auto layers = tables<schema::Layer>(in.layers, [&](const LayerDescription& item) { return layer(item); });
  const auto final_norm = norm(in.final_norm);
  const auto output = linear(in.output);
  return schema::CreateEncoder(builder_, in.d_model, in.max_tokens, in.vocab_size, in.pad_id,
                               static_cast<schema::NormPlacement>(in.norm_placement),
                               static_cast<schema::ResidualKind>(in.residual), embedding_table, projections, layers,
                               final_norm, output, in.zero_masked_rows, in.memory_width);
}

Offset<schema::MaskedLmHead> Serializer::masked_lm(const MaskedLmHead& in) {
  const auto dense = linear(in.dense);
  const auto norm_table = norm(in.norm);
  const auto output = linear(in.output);
  return schema::CreateMaskedLmHead(builder_, dense, static_cast<schema::Activation>(in.activation), norm_table,
                                    output);
}

Offset<schema::ClassificationHead> Serializer::head(const ClassificationHead& in) {
  const auto name = text(in.name);
  const auto dense = linear(in.dense);
  const auto output = linear(in.output);
  const auto norm_table = norm(in.norm);
  const auto labels = tables<schema::Label>(
      in.labels, [&](const std::string& label) { return schema::CreateLabel(builder_, text(label)); });
  return schema::CreateClassificationHead(builder_, name, static_cast<schema::Pooling>(in.pooling), dense,
                                          static_cast<schema::Activation>(in.activation), output, in.multi_label,
                                          labels, norm_table, static_cast<schema::Pairing>(in.pairing));
}

Offset<schema::SentenceEmbedding> Serializer::sentence_embedding(const SentenceEmbedding& in) {
  const auto dense = linear(in.dense);
  return schema::CreateSentenceEmbedding(builder_, static_cast<schema::Pooling>(in.pooling), dense,
                                         static_cast<schema::Activation>(in.activation), in.normalize);
}

Offset<schema::SourceTensor> Serializer::source(const SourceTensor& in) {
  const auto name = text(in.name);
  const auto shape = numbers(in.shape);
  const auto pieces = tables<schema::SourcePiece>(in.pieces, [&](const SourcePiece& piece) {
    const auto strides = numbers(piece.strides);
    return schema::CreateSourcePiece(builder_, piece.tensor, piece.first_row, piece.rows, piece.offset, strides);
  });
  return schema::CreateSourceTensor(builder_, name, shape, pieces);
}

Offset<schema::AddedToken> Serializer::added_token(const AddedToken& in) {
  const auto content = text(in.content);
  return schema::CreateAddedToken(builder_, content, in.id, in.special, in.single_word, in.strip_left, in.strip_right,
                                  in.normalized);
}

Offset<schema::Unigram> Serializer::unigram(const UnigramDescription& in) {
  const auto steps = tables<schema::NormalizerStep>(in.steps, [&](const NormalizerStep& item) {
    const auto pattern = text(item.pattern), content = text(item.content);
    return schema::CreateNormalizerStep(builder_, static_cast<schema::NormalizerKind>(item.kind), pattern, content);
  });
  const auto charsmap = large<uint8_t>(in.charsmap);
  const auto token_uses = large<uint8_t>(in.token_uses);
  const auto exact_scores = large<double>(in.exact_scores);
  return schema::CreateUnigram(builder_, in.sentencepiece, steps, charsmap, token_uses, exact_scores,
                               in.split_white_space, in.mark_spaces, in.split_words,
                               static_cast<schema::PrefixMark>(in.prefix_mark), in.remove_extra_spaces, in.mark_behind,
                               in.byte_fallback);
}

Offset<schema::Tokenizer> Serializer::tokenizer(const TokenizerDescription& in) {
  const auto token_bytes = large<uint8_t>(in.token_bytes);
  const auto token_offsets = large<uint32_t>(in.token_offsets);
  const auto token_ids = large<int32_t>(in.token_ids);
  const auto merges = large<uint32_t>(in.merges);
  const auto scores = large<float>(in.scores);
  const auto added_tokens =
      tables<schema::AddedToken>(in.added_tokens, [&](const AddedToken& item) { return added_token(item); });
  const auto single_template = numbers(in.single_template);
  const auto pair_template = numbers(in.pair_template);
  const auto pair_types = numbers(in.pair_types);
  const auto continuing_prefix = text(in.continuing_prefix);
  const auto unigram_table =
      in.kind == TokenizerKind::unigram || !in.unigram.steps.empty() ? unigram(in.unigram) : Offset<schema::Unigram>();
  return schema::CreateTokenizer(builder_, static_cast<schema::TokenizerKind>(in.kind), token_bytes, token_offsets,
                                 token_ids, merges, scores, added_tokens, in.unk, in.bos, in.eos, in.pad, in.mask,
                                 single_template, pair_template, pair_types, in.add_prefix_space, in.trim_offsets,
                                 in.lowercase, in.strip_accents, in.clean_text, in.split_cjk, continuing_prefix,
                                 in.max_word_characters, unigram_table);
}

std::vector<std::byte> Serializer::model(const ModelDescription& in, const Origin& origin) {
  const auto producer = text(in.producer);
  const auto dialect = text(in.dialect);
  const auto tensors = tables<schema::Tensor>(in.tensors, [&](const TensorDescription& item) { return tensor(item); });
  const auto encoder_table = encoder(in.encoder);
  const auto mlm = masked_lm(in.mlm);
  const auto heads =
      tables<schema::ClassificationHead>(in.heads, [&](const ClassificationHead& item) { return head(item); });
  const auto tokenizer_table = tokenizer(in.tokenizer);
  // What few models have is left out, not written empty.
  const auto embedding_table =
      in.embedding.present ? sentence_embedding(in.embedding) : Offset<schema::SentenceEmbedding>();
  const auto decoder = in.has_decoder() ? encoder(in.decoder) : Offset<schema::Encoder>();
  const auto sources =
      tables<schema::SourceTensor>(origin.tensors, [&](const SourceTensor& item) { return source(item); });
  const auto settings = text(origin.settings);
  schema::FinishModelBuffer(
      builder_, schema::CreateModel(builder_, producer, dialect, tensors, encoder_table, mlm, heads, tokenizer_table,
                                    embedding_table, decoder, sources, settings));
  const auto* bytes = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
  return {bytes, bytes + builder_.GetSize()};
}

bool needs_version_2(const AttentionDescription& a) {
  return a.row_mask != RowMask::none || a.output_activation != Activation::none || a.key_source != KeySource::own;
}

bool needs_version_2(const EncoderDescription& encoder) {
  const EmbeddingDescription& embedding = encoder.embedding;
  for (const LayerDescription& layer : encoder.layers) {
    if (needs_version_2(layer.attention)) return true;
  }
  for (const Projection& projection : encoder.projections) {
    if (projection.kind == ProjectionKind::convolution) return true;  // version 1 had its weight in another order
  }
  return encoder.residual == ResidualKind::none || encoder.output.present() || encoder.zero_masked_rows ||
         encoder.memory_width != 0 || embedding.tokens == absent || embedding.prefix_token >= 0 ||
         (embedding.position_kind != PositionKind::learned && embedding.positions != absent);
}

}  // namespace

uint32_t format_version(const ModelDescription& model) {
  const bool new_heads = std::any_of(model.heads.begin(), model.heads.end(), [](const ClassificationHead& head) {
    return head.norm.present() || head.pairing != Pairing::none;
  });
  const bool is_new = new_heads || needs_version_2(model.encoder) || model.embedding.present || model.has_decoder() ||
                      model.tokenizer.kind == TokenizerKind::unigram;
  return is_new ? 2 : 1;
}

std::vector<std::byte> serialize_metadata(const ModelDescription& model, const Origin& origin) {
  // The builder doubles its buffer and can't grow beyond 2 GiB; nothing but these arrays can be large.
  const TokenizerDescription& t = model.tokenizer;
  const uint64_t large = t.token_bytes.size_bytes() + t.token_offsets.size_bytes() + t.token_ids.size_bytes() +
                         t.merges.size_bytes() + t.scores.size_bytes() + t.unigram.charsmap.size_bytes() +
                         t.unigram.token_uses.size_bytes() + t.unigram.exact_scores.size_bytes();
  if (large > max_metadata_bytes / 4) {
    throw WriteError("the tokenizer has " + std::to_string(large) + " bytes: the format holds " +
                     std::to_string(max_metadata_bytes / 4));
  }
  return Serializer().model(model, origin);
}

}  // namespace linformer::writer
