// What a model is, apart from its numbers: the plain-struct twin of schema/linformer.fbs.
//
// The converter fills a ModelDescription and the writer serialises it; Model::load reads it back and validates it.
// Tensors are named by index into `tensors`; absent = -1. Sharing = the same index or the same projection named again.
// The parts are orthogonal so that a new dialect is a new combination of values and not a new code path.
// Reading one throws nothing; a program that copies one, or adds to its lists, may get std::bad_alloc (base/array.h).
// Source of the semantics: Linformer (Wang et al. 2020) section 4 and the public implementations.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

using TensorIndex = int32_t;
inline constexpr TensorIndex absent = -1;

// Named limits, with those of linformer/types.h: larger values in a file are refused before anything is allocated.
inline constexpr uint32_t max_tensors = 1u << 16;
inline constexpr uint32_t max_layers = 1024;
inline constexpr uint32_t max_heads = 1024;  // attention heads of a layer
inline constexpr uint32_t max_rank = 4;
inline constexpr uint32_t max_word_length = 1000;  // characters of a WordPiece word: its splitting is quadratic in them

struct TensorDescription {
  String name;  // the checkpoint's own name of the first role it was read for
  ElementType type = ElementType::f32;
  TensorLayout layout = TensorLayout::row_major;
  Array<uint64_t> shape;  // logical shape as in the checkpoint: a panel16 Linear weight says [out, in]
  uint64_t offset = 0;    // bytes from the start of the tensor segment; a multiple of 64
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of the bytes
};

// y = x W^T + b, W logically [out, in], stored panel16.
struct Linear {
  TensorIndex weight = absent;
  TensorIndex bias = absent;
  bool present() const { return weight != absent; }
};

struct Norm {  // over the last axis, biased variance
  TensorIndex scale = absent;
  TensorIndex bias = absent;
  float epsilon = 1e-5f;
  NormKind kind = NormKind::layer;
  bool present() const { return scale != absent; }
};

// before_linear: K = (E Z) Wk^T + bk (fairseq). after_linear: K = E (Z Wk^T + bk) (the paper, lucidrains, ...).
// The bias of the key/value linear is thus added once for each compressed row, or weighted by E's row sums.
enum class ProjectionOrder : uint8_t { before_linear = 0, after_linear };

// Compresses n positions to k. E is row_major [k, N] (transposed on conversion where a dialect stores [N, k]).
// n < N uses the first n columns. Convolution and pooling take the windows that lie whole within the n positions,
// and one window of what there is where n is shorter than a window (a convolution then sees zeros behind the text).
struct Projection {
  ProjectionKind kind = ProjectionKind::linear;
  ProjectionOrder order = ProjectionOrder::before_linear;
  uint32_t k = 0;
  TensorIndex weight = absent;      // linear: [k, N]; convolution: [kernel, out, in]
  TensorIndex bias = absent;        // linear: [k], added to each channel of its compressed row; convolution: [out]
  uint32_t kernel = 0, stride = 0;  // convolution and pooling
  // Of a linear projection without a bias of its own, in the order after_linear.
  LengthScale length_scale = LengthScale::none;
  // Only in a linear projection beside a window. 0: all k compressed rows take part in attention in every text.
  // Otherwise the first e compressed rows are those of the e tokens in `exact_tokens`, and the other k - e rows divide
  // the positions 0 to span - 1 among them, in order. In a text of n rows, the first
  //   min(k, e + ceil((k - e) n / span))
  // rows take part. If n is at most window + 1, the window of each row shows the whole text, and none takes part.
  uint32_t span = 0;
  // Token ids, only in a linear projection beside a window. In a text that contains exact_tokens[i], compressed row i
  // is a copy of the key or value of the first such token that isn't masked, and row i of E is not used.
  Array<uint32_t> exact_tokens = {};
};

struct AttentionDescription {
  uint32_t heads = 0;
  uint32_t kv_heads = 0;  // heads of keys and values; heads / kv_heads query heads that follow one another share each
  uint32_t head_dim = 0;
  float scale = 0;  // on the scores
  Linear query, key, value, output;
  Linear output_second;       // tatp22 w_o_2, nothing between; absent in most
  bool value_is_key = false;  // lucidrains share_kv: V = K
  bool causal = false;        // row i sees the first i + 1 compressed rows (full attention: positions)
  RowMask row_mask = RowMask::none;
  Activation output_activation = Activation::none;  // on the concatenated heads, before `output` (old tatp22)
  // Indices into EncoderDescription::projections; one entry (all heads) or one for each head.
  Array<uint32_t> key_projections, value_projections;
  KeySource key_source = KeySource::own;
  // Not 0: queries and keys of the layer's own rows are turned by their positions before keys are compressed. Channels
  // j and j + head_dim / 2 of a head make a pair, turned by position * rotary_scale * rotary_base^(-2 j / head_dim).
  float rotary_base = 0;
  float rotary_scale = 1;  // of positions (NTK scaling, gte)
  // Own rows j that row i sees as they are: those with |i - j| <= window. 0: all, where attention is full; none, where
  // keys are compressed. Row i sees all compressed keys that take part beside them, under one softmax.
  uint32_t window = 0;
  // Of queries and keys before they are turned, absent in most: of each head by itself (head_dim), or of all heads'
  // channels at once (their whole width).
  Norm query_norm, key_norm;
  // Relative position bias, row_major f32 [heads, 2 N - 1]; absent in most models. Column j - i + N - 1 is added to the
  // scaled score of query i and key j, where attention is full or has a window. Compressed keys beside a window get
  // none. Positions i and j count the rows that the encoder is given, from 0, without stripped pads.
  TensorIndex position_bias = absent;
};

enum class NormPlacement : uint8_t { post = 0, pre };
// reversible: two streams, x1 += attention(x2), x2 += ffn(x1), their sum at the end. none: nothing is added.
enum class ResidualKind : uint8_t { standard = 0, reversible, none };

// Widths may change from layer to layer (tatp22 ff_intermediate): a layer's input is as wide as its query's.
struct LayerDescription {
  AttentionDescription attention;
  Norm attention_norm;
  Linear attention_resample;  // on the residual, where widths differ (tatp22)
  Linear ffn_in, ffn_out;     // absent: a layer without FFN
  Norm ffn_norm;
  Linear ffn_resample;
  Activation activation = Activation::gelu;
  // ffn_in gives twice what ffn_out takes: the activation of its first half times its second half.
  bool gated = false;
  // Most layers have none. If it is present, a layer with the input x computes
  // outer_norm(x + attention_norm(x + attention(x))), as in jina-embeddings-v2-base-code.
  Norm outer_norm;
};

enum class PositionKind : uint8_t {
  none = 0,
  learned,
  sinusoidal_halves /* sin half then cos half */,
  sinusoidal_interleaved
};

// Input rows that are vectors instead of tokens: x = norm_out(linear(norm_in(v))), each part may be absent.
struct VectorInput {
  uint32_t width = 0;  // 0: the model takes tokens
  Norm norm_in;
  Linear linear;  // width -> the width that positions are added to
  Norm norm_out;
};

// x = (prefix,) token * scale + position (+ token type), then factor, then norm and transform; the norm may come before
// the factor.
struct EmbeddingDescription {
  TensorIndex tokens = absent;  // row_major [vocab, d_embedding]
  PositionKind position_kind = PositionKind::none;
  // learned: row_major [rows, d_embedding]; sinusoidal: f32 [d_embedding / 2], what the position is multiplied by
  // before sine and cosine, or absent = position_base^(-2 j / d_embedding)
  TensorIndex positions = absent;
  uint32_t position_offset = 0;          // row of the first token (fairseq: pad + 1 = 2)
  float position_base = 10000.f;         // sinusoidal
  bool positions_count_non_pad = false;  // fairseq: pads use row `pad_position`, others count non-pad tokens
  uint32_t pad_position = 0;
  TensorIndex token_types = absent;  // row 0 is added to every token (BERT with one segment), row 1 to the second text
  float scale = 1.f;                 // on the token embedding
  Linear factor;                     // d_embedding -> d_model
  Norm norm;
  Linear transform;  // fairseq quant_noise: [d, d] without bias
  bool transform_before_norm = false;
  bool zero_pad_rows = false;  // x[pad] = 0 after all of the above (fairseq)
  VectorInput vectors;
  TensorIndex prefix = absent;      // row_major f32 [1, d_embedding]: a row put before the vectors (ViT's class token)
  int32_t prefix_token = -1;        // a token put before the text, which then has at most N - 1
  bool norm_before_factor = false;  // the norm is of the sum's own width (ELECTRA, ALBERT)
};

// Without layers an encoder is a gather: its rows are those of the token embedding, with nothing done to them.
struct EncoderDescription {
  uint32_t d_model = 0;
  uint32_t max_tokens = 0;  // N
  uint32_t vocab_size = 0;
  int32_t pad_id = -1;  // -1: the model has no pad token
  NormPlacement norm_placement = NormPlacement::post;
  ResidualKind residual = ResidualKind::standard;
  EmbeddingDescription embedding;
  Array<Projection> projections;
  Array<LayerDescription> layers;
  Norm final_norm;
  Linear output;                      // after the final norm: last layer's width -> output_width (tatp22 project_out)
  bool zero_masked_rows = false;      // masked rows of the encoder's output are zero (Nystromformer)
  uint32_t encoder_states_width = 0;  // of the rows that cross attention reads; 0 = no layer does
};

struct MaskedLmHead {  // logits = norm(act(x dense)) W^T + b
  Linear dense;        // absent: logits straight from x
  Activation activation = Activation::gelu;
  Norm norm;
  Linear output;  // weight may be the token embedding itself (tied): row_major then
  bool present() const { return output.present(); }
};

// Whether a head reads one text, or two (texts 2i and 2i + 1 of a batch) as (x0, x1, x0 * x1, x0 - x1).
enum class Pairing : uint8_t { none = 0, product_difference };

struct ClassificationHead {  // pool -> (pair) -> norm -> dense -> activation -> output; the norm may come behind dense
  String name;
  Pooling pooling = Pooling::first_token;
  Linear dense;  // absent: output straight from the pooled vector
  Activation activation = Activation::tanh;
  Linear output;
  HeadKind kind = HeadKind::single_label;
  Array<String> labels;  // empty or one for each class
  Norm norm;
  Pairing pairing = Pairing::none;
  Activation score_activation = Activation::none;  // of a score: most often sigmoid, or none
  bool norm_after_dense = false;                   // the norm is applied behind dense and its activation (ModernBERT)
};

// What is put before a text, by its name: "query: ".
struct Prompt {
  String name;
  String text;
};

// What `embed` gives: pool -> dense -> activation -> norm -> divided by its length.
struct SentenceEmbedding {
  bool present = false;
  Pooling pooling = Pooling::mean;
  Linear dense;  // may be absent
  Activation activation = Activation::none;
  bool normalize = false;
  Norm norm = {};  // may be absent
  Array<Prompt> prompts = {};
  int32_t default_prompt = -1;   // index into prompts; -1: texts are read as they are
  bool excludes_prompt = false;  // rows of a prompt are not pooled (INSTRUCTOR)
  // Not 0: a text that is cut to N tokens is cut to N times as many code points before (model2vec).
  uint32_t characters_per_token = 0;
};

struct AddedToken {
  String content;
  int32_t id = -1;
  bool special = false, single_word = false, strip_left = false, strip_right = false, normalized = false;
};

// What a tokenizer does to a text first, step by step.
enum class NormalizerKind : uint8_t {
  charsmap = 0,  // SentencePiece's compiled rules, applied as Hugging Face's Precompiled does
  nfc,
  nfd,
  nfkc,
  nfkd,
  lowercase,
  strip_accents,
  strip_left,
  strip_right,
  nmt,
  replace,         // `pattern` by `content`
  replace_spaces,  // two or more spaces by `content`
  prepend          // `content`
};

struct NormalizerStep {
  NormalizerKind kind = NormalizerKind::charsmap;
  String pattern, content;
};

// How a text is cut into words before its tokens are looked for, step by step. The first ones are expressions that
// cover a text without gaps (text/word_patterns.h).
enum class SplitKind : uint8_t {
  gpt2 = 0,
  cl100k,  // GPT-4 and Llama 3: at most three digits
  qwen2,   // each digit by itself
  qwen3_5,
  o200k,        // GPT-4o: a word begins at its capitals
  tekken,       // Mistral's: the same without contractions, each digit by itself
  digits,       // at each number
  punctuation,  // at each punctuation mark of Hugging Face
  white_space,  // at each white space
  text          // at each `pattern`
};
// What becomes of that at which a text is split, where it isn't all of it.
enum class SplitBehavior : uint8_t { isolated = 0, removed, merged_with_previous, merged_with_next, contiguous };

struct SplitStep {
  SplitKind kind = SplitKind::gpt2;
  SplitBehavior behavior = SplitBehavior::isolated;
  String pattern;
};

// hidden: never found in a text (control symbols, unused pieces, bytes). user_defined: always found, never normalised.
enum class TokenUse : uint8_t { normal = 0, hidden, user_defined };
enum class PrefixMark : uint8_t { never = 0, first /* the text's beginning only */, always };

// Whether trimmed offsets keep one space at a text's beginning: where add_prefix_space is set, always, or never.
enum class FirstSpace : uint8_t { as_added = 0, kept, trimmed };

// What stands around a tokenizer's model, and how the model is read. WordPiece uses none of it.
//
// Unigram comes in two readings. Hugging Face's: `steps`, then words, each of which is split on its own with scores
// summed in double precision. SentencePiece's own: `charsmap` and its rules for spaces, then the whole text at once,
// with sums in single precision.
struct TokenizerRules {
  bool sentencepiece = false;                  // unigram
  Array<NormalizerStep> steps;                 // Hugging Face's reading only
  std::span<const uint8_t> charsmap;           // u32 bytes of a double array, the array, replacements that end with 0
  std::span<const uint8_t> token_uses;         // TokenUse of each internal token; empty = all normal
  std::span<const double> exact_scores;        // where float would round them; empty otherwise
  bool split_white_space = false;              // white space separates words and is dropped, before `splits`
  bool mark_spaces = false;                    // U+2581 in place of each space, after `splits`
  bool split_words = false;                    // a word begins at each U+2581
  PrefixMark prefix_mark = PrefixMark::never;  // U+2581 before a word (SentencePiece: before the text)
  bool remove_extra_spaces = false;            // SentencePiece: spaces at the ends, and all but one elsewhere
  bool mark_behind = false;                    // SentencePiece: the added mark goes behind the text
  bool byte_fallback = false;                  // what no token covers becomes the tokens <0x00> to <0xFF>
  Array<SplitStep> splits;                     // Hugging Face's reading only
  bool keep_parts = false;                     // byte_bpe: GPT-2's expression does not cut further what `splits` leave
  bool fuse_unknown = false;                   // BPE: unknown neighbours become one unknown token
  bool ignore_merges = false;                  // BPE: a word that is a token is that token, whatever the merges say

  // Whether it says anything that holds for BPE.
  bool any_of_bpe() const {
    return !steps.empty() || !splits.empty() || split_white_space || mark_spaces || byte_fallback || keep_parts ||
           fuse_unknown || ignore_merges;
  }
};

// Large arrays are views: into the mapped file, or into the converter's own storage.
struct TokenizerDescription {
  TokenizerKind kind = TokenizerKind::none;
  // Internal token i has the bytes token_bytes[token_offsets[i] .. token_offsets[i+1]). For byte_bpe these are
  // raw bytes, not the printable alphabet of vocab.json; for bpe they are its name. Offsets are ascending, one more
  // than tokens.
  std::span<const char> token_bytes;
  std::span<const uint32_t> token_offsets;
  // Internal token -> id that the model's embedding knows; empty = identity. -1 = the model lacks it (-> unk).
  std::span<const int32_t> token_ids;
  std::span<const uint32_t> merges;  // BPE: (left, right, result) internal tokens by rank
  std::span<const float> scores;     // unigram
  Array<AddedToken> added_tokens;
  int32_t unk = -1, bos = -1, eos = -1, pad = -1, mask = -1;  // model ids; BERT: bos = [CLS], eos = [SEP]
  // What surrounds texts: model ids, with template_first / template_second standing for the texts.
  Array<int32_t> single_template, pair_template;
  // Token type of each item of pair_template (BERT: 0 up to the first [SEP], then 1); empty = all 0. Singles are all 0.
  Array<uint8_t> pair_types;
  bool add_prefix_space = false;
  bool trim_offsets = false;
  bool lowercase = false, strip_accents = false, clean_text = false, split_cjk = false;  // BERT normaliser
  String continuing_prefix;                                                              // WordPiece "##"
  uint32_t max_word_characters = 100;  // WordPiece: longer words become unk
  TokenizerRules rules;
  FirstSpace first_space = FirstSpace::as_added;  // of trim_offsets
};
inline constexpr int32_t template_first = -1, template_second = -2;

struct ModelDescription {
  String producer;  // program and version that wrote the file
  String dialect;   // e.g. "fairseq"
  Array<TensorDescription> tensors;
  EncoderDescription encoder;
  MaskedLmHead mlm;
  Array<ClassificationHead> heads;
  TokenizerDescription tokenizer;
  SentenceEmbedding embedding;
  // The second half of an encoder-decoder: its cross attention reads the encoder's output. mlm and heads then read
  // the decoder's rows.
  EncoderDescription decoder;
  bool has_decoder() const { return !decoder.layers.empty(); }
};

}  // namespace LINFORMER_NAMESPACE
