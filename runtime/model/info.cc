// The functions of Model that copy parts of its description into the structs of linformer/model_info.h.
#include <algorithm>

#include "base/description.h"
#include "base/enum_names.h"
#include "io/container.h"
#include "linformer/model.h"

namespace LINFORMER_NAMESPACE {
namespace {

std::string_view view(const String& text) { return {text.c_str(), text.size()}; }

constexpr std::string_view nothing = "";

// Returns the element of a list at an index; null if the index is out of range.
template <class T>
const T* at(const Array<T>& list, int64_t index) {
  return index >= 0 && static_cast<uint64_t>(index) < list.size() ? &list[static_cast<size_t>(index)] : nullptr;
}

// Returns a dimension of a tensor that the description names. Validation has checked that it exists.
int64_t extent(const ModelDescription& description, TensorIndex tensor, size_t axis) {
  return static_cast<int64_t>(description.tensors[static_cast<size_t>(tensor)].shape[axis]);
}

// Returns the number of outputs of a linear layer; 0 if it is absent.
int64_t outputs(const ModelDescription& description, const Linear& linear) {
  return linear.present() ? extent(description, linear.weight, 0) : 0;
}

const EncoderDescription& encoder_of(const ModelDescription& description, Part part) {
  return part == Part::decoder ? description.decoder : description.encoder;
}

int64_t prefix_rows(const EmbeddingDescription& embedding) {
  return embedding.prefix != absent || embedding.prefix_token >= 0 ? 1 : 0;
}

EmbeddingInfo embedding_of(const ModelDescription& description, const EmbeddingDescription& embedding) {
  EmbeddingInfo info;
  info.reads_tokens = embedding.tokens != absent;
  info.vector_width = embedding.vectors.width;
  info.vector_norm_in = embedding.vectors.norm_in.present();
  info.vector_linear_width = outputs(description, embedding.vectors.linear);
  info.vector_norm_out = embedding.vectors.norm_out.present();
  info.prefix = embedding.prefix != absent ? "row" : embedding.prefix_token >= 0 ? "token" : "none";
  info.prefix_token = embedding.prefix_token;
  info.positions = enum_name(embedding.position_kind);
  info.position_offset = embedding.position_offset;
  info.positions_count_non_pad = embedding.positions_count_non_pad;
  info.token_types = embedding.token_types != absent ? extent(description, embedding.token_types, 0) : 0;
  info.factor_width = embedding.factor.present() ? extent(description, embedding.factor.weight, 1) : 0;
  info.norm = embedding.norm.present();
  info.norm_before_factor = embedding.norm_before_factor;
  info.transform = embedding.transform.present();
  return info;
}

}  // namespace

ModelInfo Model::info() const {
  const ModelDescription& d = description();
  ModelInfo info;
  info.producer = view(d.producer);
  info.dialect = view(d.dialect);
  info.format = container_version;
  info.max_tokens = d.encoder.max_tokens;
  info.prefix_rows = prefix_rows(d.encoder.embedding);
  info.vocabulary = d.encoder.vocab_size;
  if (d.encoder.embedding.tokens == absent) info.vector_width = d.encoder.embedding.vectors.width;
  info.width = d.encoder.d_model;
  info.layers = static_cast<int>(d.encoder.layers.size());
  info.heads = static_cast<int>(d.heads.size());
  info.tensors = static_cast<int>(d.tensors.size());
  info.pad_id = d.encoder.pad_id;
  info.mask_id = d.tokenizer.mask;
  info.tokenizer = d.tokenizer.kind;
  info.has_masked_lm = d.mlm.present();
  info.has_embedding = d.embedding.present;
  info.has_decoder = d.has_decoder();
  return info;
}

HeadInfo Model::head(int head) const {
  HeadInfo info;
  const ClassificationHead* h = at(description().heads, head);
  if (h == nullptr) return info;
  info.name = view(h->name);
  info.kind = h->kind;
  info.classes = outputs(description(), h->output);
  info.has_labels = !h->labels.empty();
  info.compares_two = h->pairing != Pairing::none;
  info.each_token = h->pooling == Pooling::none;
  info.spans = info.each_token && h->kind == HeadKind::regression && info.classes == 2;
  info.pooling = h->pooling;
  info.norm = h->norm.present();
  info.norm_after_dense = h->norm_after_dense;
  info.dense = h->dense.present();
  if (info.dense) info.activation = enum_name(h->activation);
  info.score_activation = enum_name(h->score_activation);
  return info;
}

EncoderInfo Model::encoder(Part part) const {
  const ModelDescription& d = description();
  const EncoderDescription& e = encoder_of(d, part);
  EncoderInfo info;
  if (e.d_model == 0) return info;
  info.max_tokens = e.max_tokens;
  info.vocabulary = e.vocab_size;
  info.pad_id = e.pad_id;
  info.width = e.d_model;
  info.norm = enum_name(e.norm_placement);
  info.residual = enum_name(e.residual);
  info.final_norm = e.final_norm.present();
  info.output_linear = e.output.present();
  info.output_width = e.output.present() ? outputs(d, e.output) : e.d_model;
  info.zero_masked_rows = e.zero_masked_rows;
  info.encoder_states_width = e.encoder_states_width;
  info.layers = static_cast<int>(e.layers.size());
  info.projections = static_cast<int>(e.projections.size());
  info.embedding = embedding_of(d, e.embedding);
  return info;
}

LayerInfo Model::layer(int layer, Part part) const {
  const ModelDescription& d = description();
  const EncoderDescription& e = encoder_of(d, part);
  LayerInfo info;
  const LayerDescription* l = at(e.layers, layer);
  if (l == nullptr) return info;
  const AttentionDescription& a = l->attention;
  info.heads = a.heads;
  info.kv_heads = a.kv_heads;
  info.head_dim = a.head_dim;
  info.scale = a.scale;
  info.value_is_key = a.value_is_key;
  info.causal = a.causal;
  info.key_projections = a.key_projections.span();
  info.value_projections = a.value_projections.span();
  info.key_source = enum_name(a.key_source);
  info.row_mask = enum_name(a.row_mask);
  info.output_activation = enum_name(a.output_activation);
  info.rotary_base = a.rotary_base;
  info.rotary_scale = a.rotary_scale;
  info.window = a.window;
  info.norm_kind = enum_name(l->attention_norm.present() ? l->attention_norm.kind : l->ffn_norm.kind);
  info.query_key_norms = a.query_norm.present() || a.key_norm.present();
  info.outer_norm = l->outer_norm.present();
  info.position_bias = a.position_bias != absent;
  info.full_attention = std::all_of(a.key_projections.begin(), a.key_projections.end(),
                                    [&](uint32_t index) { return e.projections[index].kind == ProjectionKind::none; });
  info.width = extent(d, a.query.weight, 1);
  info.ffn_width = outputs(d, l->ffn_in) / (l->gated ? 2 : 1);
  info.activation = enum_name(l->activation);
  info.gated = l->gated;
  return info;
}

ProjectionInfo Model::projection(int projection, Part part) const {
  ProjectionInfo info;
  const Projection* p = at(encoder_of(description(), part).projections, projection);
  if (p == nullptr) return info;
  info.kind = enum_name(p->kind);
  info.k = p->k;
  info.order = enum_name(p->order);
  info.kernel = p->kernel;
  info.stride = p->stride;
  info.weight = p->weight;
  info.bias = p->bias;
  info.length_scale = enum_name(p->length_scale);
  info.span = p->span;
  info.exact_tokens = p->exact_tokens.span();
  return info;
}

MaskedLmInfo Model::masked_lm() const {
  const ModelDescription& d = description();
  MaskedLmInfo info;
  info.present = d.mlm.present();
  if (!info.present) return info;
  info.tied = d.mlm.output.weight == d.encoder.embedding.tokens ||
              (d.has_decoder() && d.mlm.output.weight == d.decoder.embedding.tokens);
  info.dense = d.mlm.dense.present();
  info.norm = d.mlm.norm.present();
  if (info.dense) info.activation = enum_name(d.mlm.activation);
  return info;
}

SentenceEmbeddingInfo Model::sentence_embedding() const {
  const SentenceEmbedding& e = description().embedding;
  SentenceEmbeddingInfo info;
  info.present = e.present;
  if (!info.present) return info;
  info.pooling = e.pooling;
  info.linear_width = outputs(description(), e.dense);
  if (e.dense.present()) info.activation = enum_name(e.activation);
  info.norm = e.norm.present();
  info.normalize = e.normalize;
  info.prompts = static_cast<int>(e.prompts.size());
  info.default_prompt = e.default_prompt;
  info.excludes_prompt = e.excludes_prompt;
  info.characters_per_token = e.characters_per_token;
  return info;
}

PromptInfo Model::prompt(int prompt) const {
  const Prompt* p = at(description().embedding.prompts, prompt);
  return p != nullptr ? PromptInfo{view(p->name), view(p->text)} : PromptInfo();
}

TokenizerInfo Model::tokenizer() const {
  const TokenizerDescription& t = description().tokenizer;
  TokenizerInfo info;
  info.kind = t.kind;
  info.tokens = t.token_offsets.empty() ? 0 : static_cast<int64_t>(t.token_offsets.size()) - 1;
  info.merges = static_cast<int64_t>(t.merges.size()) / 3;  // Each merge has two tokens and their result.
  info.added_tokens = static_cast<int64_t>(t.added_tokens.size());
  info.unk_id = t.unk;
  info.bos_id = t.bos;
  info.eos_id = t.eos;
  info.pad_id = t.pad;
  info.mask_id = t.mask;
  info.single_template = t.single_template.span();
  info.pair_template = t.pair_template.span();
  info.pair_types = t.pair_types.span();
  info.lowercase = t.lowercase;
  info.strip_accents = t.strip_accents;
  return info;
}

TensorInfo Model::tensor(int tensor) const {
  TensorInfo info;
  const TensorDescription* t = at(description().tensors, tensor);
  if (t == nullptr) return info;
  info.name = view(t->name);
  info.type = t->type;
  info.layout = enum_name(t->layout);
  info.shape = t->shape.span();
  info.offset = t->offset;
  info.bytes = t->bytes;
  info.checksum = t->checksum;
  return info;
}

int Model::find_head(std::string_view name) const {
  for (size_t i = 0; i < description().heads.size(); ++i) {
    if (view(description().heads[i].name) == name) return static_cast<int>(i);
  }
  return -1;
}

std::string_view Model::label(int head, int64_t label) const {
  const ClassificationHead* h = at(description().heads, head);
  const String* text = h != nullptr ? at(h->labels, label) : nullptr;
  return text != nullptr ? view(*text) : nothing;
}

}  // namespace LINFORMER_NAMESPACE
