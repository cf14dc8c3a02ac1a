#include "model/read_description.h"

#include <cinttypes>
#include <cstring>

#include "base/memory.h"
#include "io/container.h"
#include "model/fields.h"
#include "model/flatbuffers_compat.h"
#include "model/limits.h"

namespace linformer {
namespace {

template <class T>
using Vector = flatbuffers::Vector<T>;
template <class T>
using Tables = flatbuffers::Vector<flatbuffers::Offset<T>>;

// Counts what is allocated, before it is.
class Reader {
 public:
  explicit Reader(uint64_t budget) : left_(budget) {}

  Status model(const schema::Model& in, ModelDescription* out);

 private:
  static Status no_memory() { return Status::error(Code::out_of_memory, "no memory for the model's description"); }

  Status take(uint64_t count, uint64_t size_each) {
    // Both are below 2^32: counts come from flatbuffers vectors.
    if (count * size_each > left_) {
      return Status::error(Code::corrupt_file,
                           "the description needs far more memory than the file has bytes: convert the checkpoint "
                           "again");
    }
    left_ -= count * size_each;
    return {};
  }

  template <class T>
  Status resize(const char* field, std::vector<T>* out, uint64_t count, uint64_t limit) {
    if (count > limit) {
      return bad_field(FieldName("%s", field), "has %" PRIu64 " entries, at most %" PRIu64 " are possible", count,
                       limit);
    }
    LINFORMER_TRY(take(count, sizeof(T)));
    if (!linformer::resize(out, count)) return no_memory();
    return {};
  }

  Status text(const flatbuffers::String* in, std::string* out) {
    if (in == nullptr) return {};
    LINFORMER_TRY(take(uint64_t{in->size()} + 1, 1));
    if (in->size() > out->capacity()) {
      // A string may take up to twice its old room when it grows.
      if (!memory_available(uint64_t{in->size()} + 2 * out->capacity() + 1)) return no_memory();
    }
    out->assign(in->c_str(), in->size());
    return {};
  }

  // The verifier checks that elements lie inside, but not that they are aligned.
  template <class In, class Out>
  Status numbers(const char* field, const Vector<In>* in, uint64_t limit, std::vector<Out>* out) {
    static_assert(sizeof(In) == sizeof(Out));
    if (in == nullptr) return {};
    LINFORMER_TRY(resize(field, out, in->size(), limit));
    if (!out->empty()) std::memcpy(out->data(), in->Data(), out->size() * sizeof(Out));
    return {};
  }

  template <class In, class Out>
  static Status view(const char* field, const Vector<In>* in, std::span<const Out>* out) {
    static_assert(sizeof(In) == sizeof(Out));
    if (in == nullptr || in->size() == 0) return {};  // writers don't align an empty vector
    if (reinterpret_cast<uintptr_t>(in->Data()) % alignof(Out) != 0) {
      return bad_field(FieldName("%s", field), "is not aligned to %zu bytes", alignof(Out));
    }
    *out = {reinterpret_cast<const Out*>(in->Data()), in->size()};
    return {};
  }

  template <class In, class Out>
  static Status enumerator(const char* field, In in, Out last, Out* out) {
    const auto value = static_cast<unsigned>(in);
    if (value > static_cast<unsigned>(last)) {
      return Status::error(Code::unsupported,
                           "%s is %u, this build knows 0 to %u: use a newer linformer or convert the checkpoint again",
                           field, value, static_cast<unsigned>(last));
    }
    *out = static_cast<Out>(value);
    return {};
  }

  static void linear(const schema::Linear* in, Linear* out) {
    if (in != nullptr) *out = {in->weight(), in->bias()};
  }
  static void norm(const schema::Norm* in, Norm* out) {
    if (in != nullptr) *out = {in->scale(), in->bias(), in->epsilon()};
  }

  Status tensor(const schema::Tensor& in, TensorDescription* out);
  Status projection(const schema::Projection& in, Projection* out);
  Status attention(const schema::Attention& in, AttentionDescription* out);
  Status layer(const schema::Layer& in, LayerDescription* out);
  Status embedding(const schema::Embedding& in, EmbeddingDescription* out);
  Status encoder(const schema::Encoder& in, EncoderDescription* out);
  Status masked_lm(const schema::MaskedLmHead& in, MaskedLmHead* out);
  Status sentence_embedding(const schema::SentenceEmbedding& in, SentenceEmbedding* out);
  Status label(const schema::Label& in, std::string* out);
  Status head(const schema::ClassificationHead& in, ClassificationHead* out);
  Status added_token(const schema::AddedToken& in, AddedToken* out);
  Status normalizer_step(const schema::NormalizerStep& in, NormalizerStep* out);
  Status unigram(const schema::Unigram& in, UnigramDescription* out);
  Status tokenizer(const schema::Tokenizer& in, TokenizerDescription* out);

  template <class In, class Out>
  Status tables(const char* field, const Tables<In>* in, uint64_t limit, std::vector<Out>* out,
                Status (Reader::*read)(const In&, Out*)) {
    if (in == nullptr) return {};
    LINFORMER_TRY(resize(field, out, in->size(), limit));
    for (uint32_t i = 0; i < in->size(); ++i) LINFORMER_TRY((this->*read)(*in->Get(i), &(*out)[i]));
    return {};
  }

  uint64_t left_;
};

Status Reader::tensor(const schema::Tensor& in, TensorDescription* out) {
  LINFORMER_TRY(text(in.name(), &out->name));
  LINFORMER_TRY(enumerator("tensor type", in.type(), ElementType::int8, &out->type));
  LINFORMER_TRY(enumerator("tensor layout", in.layout(), TensorLayout::panel16, &out->layout));
  LINFORMER_TRY(numbers("tensor shape", in.shape(), max_rank, &out->shape));
  out->offset = in.offset();
  out->bytes = in.bytes();
  out->checksum = in.checksum();
  out->scales = in.scales();
  return {};
}

Status Reader::projection(const schema::Projection& in, Projection* out) {
  LINFORMER_TRY(enumerator("projection kind", in.kind(), ProjectionKind::none, &out->kind));
  LINFORMER_TRY(enumerator("projection order", in.order(), ProjectionOrder::after_linear, &out->order));
  out->k = in.k();
  out->weight = in.weight();
  out->bias = in.bias();
  out->bias_per_row = in.bias_per_row();
  out->kernel = in.kernel();
  out->stride = in.stride();
  return {};
}

Status Reader::attention(const schema::Attention& in, AttentionDescription* out) {
  out->heads = in.heads();
  out->kv_heads = in.kv_heads();
  out->head_dim = in.head_dim();
  out->scale = in.scale();
  linear(in.query(), &out->query);
  linear(in.key(), &out->key);
  linear(in.value(), &out->value);
  linear(in.output(), &out->output);
  linear(in.output_second(), &out->output_second);
  out->value_is_key = in.value_is_key();
  out->causal = in.causal();
  LINFORMER_TRY(enumerator("row_mask", in.row_mask(), RowMask::excluded, &out->row_mask));
  LINFORMER_TRY(enumerator("output_activation", in.output_activation(), Activation::sigmoid, &out->output_activation));
  if (in.masks_rows()) out->row_mask = RowMask::zeroed;
  LINFORMER_TRY(enumerator("key_source", in.key_source(), KeySource::memory_or_own, &out->key_source));
  LINFORMER_TRY(numbers("key_projections", in.key_projections(), max_heads, &out->key_projections));
  return numbers("value_projections", in.value_projections(), max_heads, &out->value_projections);
}

Status Reader::layer(const schema::Layer& in, LayerDescription* out) {
  if (in.attention() != nullptr) LINFORMER_TRY(attention(*in.attention(), &out->attention));
  norm(in.attention_norm(), &out->attention_norm);
  linear(in.attention_resample(), &out->attention_resample);
  linear(in.ffn_in(), &out->ffn_in);
  linear(in.ffn_out(), &out->ffn_out);
  norm(in.ffn_norm(), &out->ffn_norm);
  linear(in.ffn_resample(), &out->ffn_resample);
  LINFORMER_TRY(enumerator("layer activation", in.activation(), Activation::sigmoid, &out->activation));
  if (in.attention() != nullptr && in.attention()->activation_before_output()) {
    out->attention.output_activation = out->activation;
  }
  return {};
}

Status Reader::embedding(const schema::Embedding& in, EmbeddingDescription* out) {
  out->tokens = in.tokens();
  LINFORMER_TRY(
      enumerator("position_kind", in.position_kind(), PositionKind::sinusoidal_interleaved, &out->position_kind));
  out->positions = in.positions();
  out->position_offset = in.position_offset();
  out->position_base = in.position_base();
  out->positions_count_non_pad = in.positions_count_non_pad();
  out->pad_position = in.pad_position();
  out->token_types = in.token_types();
  out->scale = in.scale();
  linear(in.factor(), &out->factor);
  norm(in.norm(), &out->norm);
  linear(in.transform(), &out->transform);
  out->transform_before_norm = in.transform_before_norm();
  out->zero_pad_rows = in.zero_pad_rows();
  if (const schema::VectorInput* vectors = in.vectors()) {
    out->vectors.width = vectors->width();
    norm(vectors->norm_in(), &out->vectors.norm_in);
    linear(vectors->linear(), &out->vectors.linear);
    norm(vectors->norm_out(), &out->vectors.norm_out);
  }
  out->prefix = in.prefix();
  out->prefix_token = in.prefix_token();
  return {};
}

Status Reader::encoder(const schema::Encoder& in, EncoderDescription* out) {
  out->d_model = in.d_model();
  out->max_tokens = in.max_tokens();
  out->vocab_size = in.vocab_size();
  out->pad_id = in.pad_id();
  LINFORMER_TRY(enumerator("norm_placement", in.norm_placement(), NormPlacement::pre, &out->norm_placement));
  LINFORMER_TRY(enumerator("residual", in.residual(), ResidualKind::none, &out->residual));
  if (in.embedding() != nullptr) LINFORMER_TRY(embedding(*in.embedding(), &out->embedding));
  LINFORMER_TRY(tables("projections", in.projections(), max_projections, &out->projections, &Reader::projection));
  LINFORMER_TRY(tables("layers", in.layers(), max_layers, &out->layers, &Reader::layer));
  norm(in.final_norm(), &out->final_norm);
  linear(in.output(), &out->output);
  out->zero_masked_rows = in.zero_masked_rows();
  out->memory_width = in.memory_width();
  return {};
}

Status Reader::masked_lm(const schema::MaskedLmHead& in, MaskedLmHead* out) {
  linear(in.dense(), &out->dense);
  LINFORMER_TRY(enumerator("mlm activation", in.activation(), Activation::sigmoid, &out->activation));
  norm(in.norm(), &out->norm);
  linear(in.output(), &out->output);
  return {};
}

Status Reader::head(const schema::ClassificationHead& in, ClassificationHead* out) {
  LINFORMER_TRY(text(in.name(), &out->name));
  LINFORMER_TRY(enumerator("head pooling", in.pooling(), Pooling::none, &out->pooling));
  linear(in.dense(), &out->dense);
  LINFORMER_TRY(enumerator("head activation", in.activation(), Activation::sigmoid, &out->activation));
  linear(in.output(), &out->output);
  out->multi_label = in.multi_label();
  norm(in.norm(), &out->norm);
  LINFORMER_TRY(enumerator("head pairing", in.pairing(), Pairing::product_difference, &out->pairing));
  return tables("head labels", in.labels(), max_classes, &out->labels, &Reader::label);
}

Status Reader::sentence_embedding(const schema::SentenceEmbedding& in, SentenceEmbedding* out) {
  out->present = true;
  LINFORMER_TRY(enumerator("embedding pooling", in.pooling(), Pooling::none, &out->pooling));
  linear(in.dense(), &out->dense);
  LINFORMER_TRY(enumerator("embedding activation", in.activation(), Activation::sigmoid, &out->activation));
  out->normalize = in.normalize();
  return {};
}

Status Reader::label(const schema::Label& in, std::string* out) { return text(in.text(), out); }

Status Reader::added_token(const schema::AddedToken& in, AddedToken* out) {
  out->id = in.id();
  out->special = in.special();
  out->single_word = in.single_word();
  out->strip_left = in.strip_left();
  out->strip_right = in.strip_right();
  out->normalized = in.normalized();
  return text(in.content(), &out->content);
}

Status Reader::normalizer_step(const schema::NormalizerStep& in, NormalizerStep* out) {
  LINFORMER_TRY(enumerator("normalizer kind", in.kind(), NormalizerKind::prepend, &out->kind));
  LINFORMER_TRY(text(in.pattern(), &out->pattern));
  return text(in.content(), &out->content);
}

Status Reader::unigram(const schema::Unigram& in, UnigramDescription* out) {
  out->sentencepiece = in.sentencepiece();
  LINFORMER_TRY(
      tables("tokenizer.unigram.steps", in.steps(), max_normalizer_steps, &out->steps, &Reader::normalizer_step));
  LINFORMER_TRY(view("tokenizer.unigram.charsmap", in.charsmap(), &out->charsmap));
  LINFORMER_TRY(view("tokenizer.unigram.token_uses", in.token_uses(), &out->token_uses));
  LINFORMER_TRY(view("tokenizer.unigram.exact_scores", in.exact_scores(), &out->exact_scores));
  out->split_white_space = in.split_white_space();
  out->mark_spaces = in.mark_spaces();
  out->split_words = in.split_words();
  LINFORMER_TRY(enumerator("prefix_mark", in.prefix_mark(), PrefixMark::always, &out->prefix_mark));
  out->remove_extra_spaces = in.remove_extra_spaces();
  out->mark_behind = in.mark_behind();
  out->byte_fallback = in.byte_fallback();
  return {};
}

Status Reader::tokenizer(const schema::Tokenizer& in, TokenizerDescription* out) {
  LINFORMER_TRY(enumerator("tokenizer kind", in.kind(), TokenizerKind::unigram, &out->kind));
  LINFORMER_TRY(view("tokenizer.token_bytes", in.token_bytes(), &out->token_bytes));
  LINFORMER_TRY(view("tokenizer.token_offsets", in.token_offsets(), &out->token_offsets));
  LINFORMER_TRY(view("tokenizer.token_ids", in.token_ids(), &out->token_ids));
  LINFORMER_TRY(view("tokenizer.merges", in.merges(), &out->merges));
  LINFORMER_TRY(view("tokenizer.scores", in.scores(), &out->scores));
  LINFORMER_TRY(
      tables("tokenizer.added_tokens", in.added_tokens(), max_added_tokens, &out->added_tokens, &Reader::added_token));
  out->unk = in.unk();
  out->bos = in.bos();
  out->eos = in.eos();
  out->pad = in.pad();
  out->mask = in.mask();
  LINFORMER_TRY(
      numbers("tokenizer.single_template", in.single_template(), max_template_entries, &out->single_template));
  LINFORMER_TRY(numbers("tokenizer.pair_template", in.pair_template(), max_template_entries, &out->pair_template));
  LINFORMER_TRY(numbers("tokenizer.pair_types", in.pair_types(), max_template_entries, &out->pair_types));
  out->add_prefix_space = in.add_prefix_space();
  out->trim_offsets = in.trim_offsets();
  out->lowercase = in.lowercase();
  out->strip_accents = in.strip_accents();
  out->clean_text = in.clean_text();
  out->split_cjk = in.split_cjk();
  out->max_word_characters = in.max_word_characters();
  if (in.unigram() != nullptr) LINFORMER_TRY(unigram(*in.unigram(), &out->unigram));
  return text(in.continuing_prefix(), &out->continuing_prefix);
}

Status Reader::model(const schema::Model& in, ModelDescription* out) {
  LINFORMER_TRY(text(in.producer(), &out->producer));
  LINFORMER_TRY(text(in.dialect(), &out->dialect));
  LINFORMER_TRY(tables("tensors", in.tensors(), max_tensors, &out->tensors, &Reader::tensor));
  if (in.encoder() != nullptr) LINFORMER_TRY(encoder(*in.encoder(), &out->encoder));
  if (in.mlm() != nullptr) LINFORMER_TRY(masked_lm(*in.mlm(), &out->mlm));
  LINFORMER_TRY(tables("heads", in.heads(), max_classification_heads, &out->heads, &Reader::head));
  if (in.tokenizer() != nullptr) LINFORMER_TRY(tokenizer(*in.tokenizer(), &out->tokenizer));
  if (in.embedding() != nullptr) LINFORMER_TRY(sentence_embedding(*in.embedding(), &out->embedding));
  if (in.decoder() != nullptr) LINFORMER_TRY(encoder(*in.decoder(), &out->decoder));
  return {};
}

}  // namespace

Status read_description(std::span<const std::byte> metadata, uint64_t file_bytes, ModelDescription* description) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(metadata.data());
  // A table and the reference to it take at least 8 bytes, so a file that needs more visits than this names tables
  // again and again to make verification slow.
  const uint64_t tables = metadata.size() / 8;
  if (metadata.size() > max_metadata_bytes ||
      !schema::verify_metadata(bytes, metadata.size(), max_metadata_depth, static_cast<uint32_t>(tables))) {
    return Status::error(Code::corrupt_file, "the metadata's structure is damaged: copy or convert the file again");
  }
  return Reader(file_bytes + description_allowance).model(*schema::GetModel(bytes), description);
}

}  // namespace linformer
