// The description of a model: everything except the values of its tensors. The structs correspond to the tables of
// schema/linformer.fbs.
//
// The converter fills a ModelDescription and the writer serialises it; Model::load reads it back and validates it. A
// field refers to a tensor by its index in `tensors`; `absent` (-1) means that there is no tensor. A tensor or a
// projection is shared if several fields have the same index. Each field describes one property of a model, so the
// models of another implementation (a dialect) need other values and no code of their own. Reading a description throws
// nothing; a program that copies one, or adds to its lists, may get std::bad_alloc (base/array.h). The semantics are
// those of Linformer (Wang et al. 2020), section 4, and of the public implementations.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

using TensorIndex = int32_t;
inline constexpr TensorIndex absent = -1;

// Limits, in addition to those of linformer/types.h. Larger values in a file are refused before anything is allocated.
inline constexpr uint32_t max_tensors = 1u << 16;
inline constexpr uint32_t max_layers = 1024;
inline constexpr uint32_t max_heads = 1024;  // The attention heads of a layer.
inline constexpr uint32_t max_rank = 4;
// The characters of a word in WordPiece: the time to split a word is quadratic in them.
inline constexpr uint32_t max_word_length = 1000;

struct TensorDescription {
  String name;  // The name in the checkpoint. If the tensor has several roles, the name for the first one.
  ElementType type = ElementType::f32;
  TensorLayout layout = TensorLayout::row_major;
  Array<uint64_t> shape;  // The logical shape, as in the checkpoint: [out, in] for a Linear's weight in panel16.
  uint64_t offset = 0;    // In bytes from the start of the tensor segment; a multiple of 64.
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of the bytes.
};

// A linear layer: y = x W^T + b. W is logically [out, in], and is stored in panel16 unless it is the token embedding.
struct Linear {
  TensorIndex weight = absent;
  TensorIndex bias = absent;
  bool present() const { return weight != absent; }
};

// A norm over the last axis. The variance is biased (divided by the number of elements).
struct Norm {
  TensorIndex scale = absent;
  TensorIndex bias = absent;
  float epsilon = 1e-5f;
  NormKind kind = NormKind::layer;
  bool present() const { return scale != absent; }
};

// Whether a projection E comes before or after the linear layer of the keys or values. before_linear: K = (E Z) Wk^T +
// bk (fairseq). after_linear: K = E (Z Wk^T + bk) (the paper, lucidrains, ...). The bias bk is thus added once to each
// compressed row, or weighted by the row sums of E.
enum class ProjectionOrder : uint8_t { before_linear = 0, after_linear };

// Compresses n positions to k rows. The weight of a linear projection, E, is stored by rows, [k, N] (the converter
// transposes it if the dialect stores [N, k]). If n < N, the first n columns are used. Convolution and pooling use the
// windows that lie completely within the n positions. If n is smaller than a window, there is one window: pooling takes
// the n positions, and a convolution reads zeros behind them.
struct Projection {
  ProjectionKind kind = ProjectionKind::linear;
  ProjectionOrder order = ProjectionOrder::before_linear;
  uint32_t k = 0;
  TensorIndex weight = absent;  // linear: [k, N]; convolution: [kernel, out, in].
  // linear: [k], whose element j is added to each channel of compressed row j; convolution: [out].
  TensorIndex bias = absent;
  uint32_t kernel = 0, stride = 0;  // For convolution and pooling.
  // Only for a linear projection that has no bias and the order after_linear.
  LengthScale length_scale = LengthScale::none;
  // Only for a linear projection in a layer that also has a window. 0: all k compressed rows take part in attention in
  // every sequence. Otherwise the first e compressed rows are those of the e tokens in `exact_tokens`, and the k - e
  // rows after them divide the positions 0 to span - 1 among them, in order. In a sequence of n rows, the first
  //   min(k, e + ceil((k - e) n / span))
  // rows take part. If n is at most window + 1, the window of each row covers the whole sequence, and no compressed row
  // takes part.
  uint32_t span = 0;
  // Token ids, only for a linear projection in a layer that also has a window. In a sequence that contains
  // exact_tokens[i], compressed row i is a copy of the key or value of the first such token that isn't masked, and row
  // i of E is not used.
  Array<uint32_t> exact_tokens = {};
};

struct AttentionDescription {
  uint32_t heads = 0;
  uint32_t kv_heads = 0;  // Each of them is shared by heads / kv_heads successive query heads.
  uint32_t head_dim = 0;
  float scale = 0;  // The factor of the scores.
  Linear query, key, value, output;
  Linear output_second;       // A linear layer directly after `output` (tatp22's w_o_2). Absent in most models.
  bool value_is_key = false;  // V = K (lucidrains' share_kv).
  bool causal = false;        // Row i sees the first i + 1 compressed rows or, in full attention, positions.
  RowMask row_mask = RowMask::none;
  Activation output_activation = Activation::none;  // Of the concatenated heads, before `output` (old tatp22).
  // Indices into EncoderDescription::projections: one for all heads, or one for each head. value_projections may be
  // empty if value_is_key is true.
  Array<uint32_t> key_projections, value_projections;
  KeySource key_source = KeySource::own;
  // If not 0, queries and keys are rotated by their positions before keys are compressed; key_source must then be own.
  // Channels j and j + head_dim / 2 of a head form a pair, which is rotated by the angle position * rotary_scale *
  // rotary_base^(-2 j / head_dim).
  float rotary_base = 0;
  float rotary_scale = 1;  // The factor of positions (NTK scaling, gte).
  // Row i sees the uncompressed rows j with |i - j| <= window. 0 means all rows in full attention, and none if keys are
  // compressed. Under the same softmax, row i sees all compressed keys that take part.
  uint32_t window = 0;
  // Norms of queries and keys before the rotation, absent in most models. A norm of head_dim elements acts on each head
  // by itself, a norm of the whole width on the channels of all heads at once.
  Norm query_norm, key_norm;
  // Relative position bias, row_major f32 [heads, 2 N - 1]; absent in most models. In full attention and within a
  // window, column j - i + N - 1 is added to the scaled score of query i and key j. Compressed keys beside a window get
  // no bias. Positions i and j count the rows that the encoder is given, from 0; stripped padding isn't counted.
  TensorIndex position_bias = absent;
};

enum class NormPlacement : uint8_t { post = 0, pre };
// reversible: two streams with x1 += attention(x2) and x2 += ffn(x1), which are added up after the last layer. none:
// there are no residual connections.
enum class ResidualKind : uint8_t { standard = 0, reversible, none };

// Widths may change from layer to layer (tatp22's ff_intermediate). The input of a layer is as wide as the input of its
// `query`.
struct LayerDescription {
  AttentionDescription attention;
  Norm attention_norm;
  Linear attention_resample;  // Applied to the residual if attention changes the width (tatp22).
  Linear ffn_in, ffn_out;     // Absent in a layer without a feed-forward network.
  Norm ffn_norm;
  Linear ffn_resample;
  Activation activation = Activation::gelu;
  // ffn_in has twice as many outputs as ffn_out has inputs. The activation is applied to the first half of the outputs,
  // and the result is multiplied by the second half.
  bool gated = false;
  // Absent in most layers. If it is present, a layer with the input x computes
  // outer_norm(x + attention_norm(x + attention(x))), as in jina-embeddings-v2-base-code.
  Norm outer_norm;
};

enum class PositionKind : uint8_t {
  none = 0,
  learned,
  sinusoidal_halves /* all sines, then all cosines */,
  sinusoidal_interleaved
};

// Input rows that are vectors v instead of tokens: x = norm_out(linear(norm_in(v))). Each of the two norms and the
// linear layer may be absent.
struct VectorInput {
  uint32_t width = 0;  // 0 if the model takes tokens.
  Norm norm_in;
  Linear linear;  // From `width` to the width that positions are added to.
  Norm norm_out;
};

// How the rows of the first layer are computed: x = token * scale + position (+ token type), then factor, then norm,
// then transform. norm_before_factor and transform_before_norm change the order. A prefix, if there is one, is the
// first row.
struct EmbeddingDescription {
  TensorIndex tokens = absent;  // row_major [vocab, d_embedding]; absent if the model takes vectors.
  PositionKind position_kind = PositionKind::none;
  // learned: row_major [rows, d_embedding]. Sinusoidal: f32 [d_embedding / 2], the factors that a position is
  // multiplied by before sine and cosine; if absent, factor j is position_base^(-2 j / d_embedding).
  TensorIndex positions = absent;
  uint32_t position_offset = 0;   // The position of the first token (fairseq: pad + 1 = 2).
  float position_base = 10000.f;  // For sinusoidal positions.
  // Pad tokens have the position pad_position, and the positions of other tokens count only non-pad tokens (fairseq).
  bool positions_count_non_pad = false;
  uint32_t pad_position = 0;
  // Row t of the table is added to tokens of type t: 0 in a single text; in BERT 1 in the second text of a pair.
  TensorIndex token_types = absent;
  float scale = 1.f;  // The factor of the token embedding.
  Linear factor;      // From d_embedding to d_model.
  Norm norm;
  Linear transform;  // [d, d] without a bias (fairseq's quant_noise).
  bool transform_before_norm = false;
  bool zero_pad_rows = false;  // The rows of pad tokens are set to 0 after all of the above (fairseq).
  VectorInput vectors;
  TensorIndex prefix = absent;      // row_major f32 [1, d_embedding]: a row put before the vectors (ViT's class token).
  int32_t prefix_token = -1;        // The id of a token put before a sequence, which may then have N - 1 tokens.
  bool norm_before_factor = false;  // The norm has d_embedding elements (ELECTRA, ALBERT).
};

// An encoder without layers only looks up vectors: its output rows are rows of the token embedding, unchanged.
struct EncoderDescription {
  uint32_t d_model = 0;
  uint32_t max_tokens = 0;  // N: the most rows of a sequence, prefix included.
  uint32_t vocab_size = 0;
  int32_t pad_id = -1;  // -1 if the model has no pad token.
  NormPlacement norm_placement = NormPlacement::post;
  ResidualKind residual = ResidualKind::standard;
  EmbeddingDescription embedding;
  Array<Projection> projections;
  Array<LayerDescription> layers;
  Norm final_norm;
  // A linear layer after the final norm, from the last layer's width to the output width (tatp22's project_out).
  Linear output;
  bool zero_masked_rows = false;      // Masked rows of the output are set to zero (Nystromformer).
  uint32_t encoder_states_width = 0;  // The width of the rows that cross attention reads; 0 without cross attention.
};

// logits = norm(act(x dense)) W^T + b
struct MaskedLmHead {
  Linear dense;  // If absent, the logits are x W^T + b.
  Activation activation = Activation::gelu;
  Norm norm;
  Linear output;  // The weight may be the token embedding itself (tied), which is row_major.
  bool present() const { return output.present(); }
};

// none: a head reads one pooled sequence. product_difference: a head reads two. Sequences 2i and 2i + 1 of a batch are
// pooled to x0 and x1, and the head reads (x0, x1, x0 * x1, x0 - x1).
enum class Pairing : uint8_t { none = 0, product_difference };

// Applies pool -> (pair) -> norm -> dense -> activation -> output.
struct ClassificationHead {
  String name;
  Pooling pooling = Pooling::first_token;
  Linear dense;  // If absent, the output reads the vector that `dense` would, and `activation` is not used.
  Activation activation = Activation::tanh;
  Linear output;
  HeadKind kind = HeadKind::single_label;
  Array<String> labels;  // Empty, or one for each class.
  Norm norm;
  Pairing pairing = Pairing::none;
  Activation score_activation = Activation::none;  // For HeadKind::score: most often sigmoid, or none.
  bool norm_after_dense = false;                   // The norm comes after dense and its activation (ModernBERT).
};

// A text, such as "query: ", that is put before each text that is embedded. The caller chooses it by its name.
struct Prompt {
  String name;
  String text;
};

// How a text becomes one vector: pool -> dense -> activation -> norm. If `normalize` is true, the vector is divided by
// its length.
struct SentenceEmbedding {
  bool present = false;
  Pooling pooling = Pooling::mean;
  Linear dense;  // May be absent.
  Activation activation = Activation::none;
  bool normalize = false;
  Norm norm = {};  // May be absent.
  Array<Prompt> prompts = {};
  int32_t default_prompt = -1;   // An index into `prompts`, or -1 if texts get no prompt by default.
  bool excludes_prompt = false;  // The rows of a prompt are not pooled (INSTRUCTOR).
  // If not 0, a text that is cut to n tokens is first cut to n * characters_per_token code points (model2vec).
  uint32_t characters_per_token = 0;
};

struct AddedToken {
  String content;
  int32_t id = -1;
  bool special = false, single_word = false, strip_left = false, strip_right = false, normalized = false;
};

// The steps that a tokenizer can apply to a text first, before the text is split into words.
enum class NormalizerKind : uint8_t {
  charsmap = 0,  // Applies SentencePiece's compiled rules, as Hugging Face's Precompiled does.
  nfc,
  nfd,
  nfkc,
  nfkd,
  lowercase,
  strip_accents,
  strip_left,
  strip_right,
  nmt,
  replace,         // Replaces `pattern` by `content`.
  replace_spaces,  // Replaces two or more spaces by `content`.
  prepend          // Puts `content` before the text.
};

struct NormalizerStep {
  NormalizerKind kind = NormalizerKind::charsmap;
  String pattern, content;
};

// The ways in which a step splits a text into words, before tokens are looked up. The kinds up to tekken are regular
// expressions whose matches cover a text without gaps (text/word_patterns.h). The others match separators.
enum class SplitKind : uint8_t {
  gpt2 = 0,
  cl100k,  // GPT-4 and Llama 3: at most three digits in a word.
  qwen2,   // Each digit is a word.
  qwen3_5,
  o200k,        // GPT-4o: a word begins with its capitals.
  tekken,       // Mistral: like o200k, but without contractions, and each digit is a word.
  digits,       // Each number character.
  punctuation,  // Each punctuation mark, as Hugging Face defines them.
  white_space,  // Each white space character.
  text          // Each occurrence of `pattern`.
};
// What happens to a separator: it is a word of its own (isolated), is dropped (removed), is joined to the word before
// it or after it, or is joined to the separators beside it (contiguous).
enum class SplitBehavior : uint8_t { isolated = 0, removed, merged_with_previous, merged_with_next, contiguous };

struct SplitStep {
  SplitKind kind = SplitKind::gpt2;
  SplitBehavior behavior = SplitBehavior::isolated;
  String pattern;
};

// Whether the characters of a token become this token where they stand in a text. hidden: never (control symbols,
// unused pieces, bytes). user_defined: always, and before these characters are normalised.
enum class TokenUse : uint8_t { normal = 0, hidden, user_defined };
// Says before which words U+2581 is put.
enum class PrefixMark : uint8_t { never = 0, first /* at the text's beginning only */, always };

// Whether offsets from which spaces are trimmed still include one space at a text's beginning. as_added: if
// add_prefix_space is true. kept: always. trimmed: never.
enum class FirstSpace : uint8_t { as_added = 0, kept, trimmed };

// The steps of a tokenizer before and after its unigram or BPE model makes tokens, and how that model is applied.
// WordPiece uses none of these fields.
//
// Unigram is applied in one of two ways. Hugging Face's way: `steps`, then words, each of which is split on its own
// with sums of scores in double precision. SentencePiece's way: `charsmap` and the rules for spaces, then the whole
// text at once, with sums in single precision.
struct TokenizerRules {
  bool sentencepiece = false;   // Unigram is applied in SentencePiece's way.
  Array<NormalizerStep> steps;  // Not used in SentencePiece's way.
  // A double-array trie and its replacements: the size of the trie in bytes (u32), the trie, and the replacements, each
  // of which ends with a 0 byte.
  std::span<const uint8_t> charsmap;
  std::span<const uint8_t> token_uses;         // The TokenUse of each internal token. If empty, all are normal.
  std::span<const double> exact_scores;        // The scores, if float would round them; empty otherwise.
  bool split_white_space = false;              // White space separates words and is dropped, before `splits`.
  bool mark_spaces = false;                    // Each space becomes U+2581, after `splits`.
  bool split_words = false;                    // A word begins at each U+2581.
  PrefixMark prefix_mark = PrefixMark::never;  // Which words get U+2581 before them. SentencePiece: a text is one word.
  bool remove_extra_spaces = false;            // SentencePiece: removes spaces at the ends, and all but one elsewhere.
  bool mark_behind = false;                    // SentencePiece: the U+2581 of prefix_mark goes behind the text.
  bool byte_fallback = false;                  // Characters that no token covers become the tokens <0x00> to <0xFF>.
  Array<SplitStep> splits;                     // Not used in SentencePiece's way.
  bool keep_parts = false;                     // byte_bpe: GPT-2's expression isn't applied to the parts from `splits`.
  bool fuse_unknown = false;                   // BPE: adjacent unknown tokens become one.
  bool ignore_merges = false;                  // BPE: a word that is a token becomes this token without merges.

  // Returns whether a field that BPE uses is set.
  bool has_bpe_rules() const {
    return !steps.empty() || !splits.empty() || split_white_space || mark_spaces || byte_fallback || keep_parts ||
           fuse_unknown || ignore_merges;
  }
};

// A tokenizer. Its large arrays are views into the mapped file or into storage of the converter.
struct TokenizerDescription {
  TokenizerKind kind = TokenizerKind::none;
  // Internal token i has the bytes token_bytes[token_offsets[i] .. token_offsets[i + 1]). For byte_bpe these are raw
  // bytes, not the printable alphabet of vocab.json; for the other kinds they are the token's name. The offsets ascend,
  // and their number is the number of tokens plus 1.
  std::span<const char> token_bytes;
  std::span<const uint32_t> token_offsets;
  // The row of each internal token in the model's embedding (its model id). If empty, tokens are their own ids. -1
  // means that the model lacks the token, which is then replaced by unk.
  std::span<const int32_t> token_ids;
  std::span<const uint32_t> merges;  // BPE: the internal tokens (left, right, result) of each merge, in order of rank.
  std::span<const float> scores;     // Unigram: the score of each token.
  Array<AddedToken> added_tokens;
  int32_t unk = -1, bos = -1, eos = -1, pad = -1, mask = -1;  // Model ids. BERT: bos is [CLS], eos is [SEP].
  // The tokens around one text and around two: model ids, with template_first and template_second in the places of the
  // texts.
  Array<int32_t> single_template, pair_template;
  // The token type of each item of pair_template (BERT: 0 up to the first [SEP], then 1). If empty, all types are 0.
  // The types of a single text are always 0.
  Array<uint8_t> pair_types;
  bool add_prefix_space = false;
  bool trim_offsets = false;
  bool lowercase = false, strip_accents = false, clean_text = false, split_cjk = false;  // BERT's normaliser.
  String continuing_prefix;                                                              // WordPiece: "##".
  uint32_t max_word_characters = 100;  // WordPiece: longer words become unk.
  TokenizerRules rules;
  FirstSpace first_space = FirstSpace::as_added;  // Used if trim_offsets is true.
};
inline constexpr int32_t template_first = -1, template_second = -2;

struct ModelDescription {
  String producer;  // The program that wrote the file, and its version.
  String dialect;   // The implementation that the checkpoint came from, such as "fairseq".
  Array<TensorDescription> tensors;
  EncoderDescription encoder;
  MaskedLmHead mlm;
  Array<ClassificationHead> heads;
  TokenizerDescription tokenizer;
  SentenceEmbedding embedding;
  // The decoder of an encoder-decoder: its cross attention reads the encoder's output. mlm and heads then read the
  // decoder's rows.
  EncoderDescription decoder;
  bool has_decoder() const { return !decoder.layers.empty(); }
};

}  // namespace LINFORMER_NAMESPACE
