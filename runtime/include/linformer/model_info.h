// What a model is, for programs that show, check or choose: plain structs, which Model's functions fill. Texts (with a
// 0 behind their last byte) and spans live as long as the model. A `const char*` is a static name, such as "gelu", of
// what only people read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct ModelInfo {
  std::string_view producer;  // program and version that wrote the file
  std::string_view dialect;   // "fairseq", ...
  uint32_t format = 0;        // version of the file format
  int64_t max_tokens = 0;     // N, with what the model puts before a text
  int64_t prefix_rows = 0;    // that the model puts before a text: n tokens make n + prefix_rows rows
  int64_t vocabulary = 0;     // 0: the model reads vectors
  int64_t vector_width = 0;   // of those
  int64_t width = 0;          // d_model
  int layers = 0;
  int heads = 0;  // classification heads
  int tensors = 0;
  int32_t pad_id = -1;   // -1: none
  int32_t mask_id = -1;  // -1: none
  TokenizerKind tokenizer = TokenizerKind::none;
  bool has_masked_lm = false;
  bool has_embedding = false;  // it says how texts become vectors
  bool has_decoder = false;    // an encoder-decoder: its heads belong to the decoder
};

// A classification head: it pools the rows, then come norm, linear and activation, as far as it has them, then the
// linear that gives the outputs. The norm may come behind the activation instead.
struct HeadInfo {
  std::string_view name;
  HeadKind kind = HeadKind::single_label;
  int64_t classes = 0;  // outputs
  bool has_labels = false;
  bool compares_two = false;  // a row of scores for two texts
  bool each_token = false;    // a row of scores for each token
  bool spans = false;         // they are the logits of a span's begin and end: Answerer
  Pooling pooling = Pooling::first_token;
  bool norm = false;
  bool dense = false;  // a linear of its own before the outputs, with `activation` behind it
  bool norm_after_dense = false;
  const char* activation = "none";
  const char* score_activation = "none";  // of a score: what probabilities make of its output
};

// The masked-LM head.
struct MaskedLmInfo {
  bool present = false;
  bool tied = false;   // its weight is the token embedding
  bool dense = false;  // a linear with `activation` and norm before; otherwise it reads the rows themselves
  bool norm = false;
  const char* activation = "none";
};

// How the model makes one vector of a text: Output::embeddings().
struct SentenceEmbeddingInfo {
  bool present = false;
  Pooling pooling = Pooling::mean;
  int64_t linear_width = 0;  // of the vector that a linear behind the pooling gives; 0: there is no linear
  const char* activation = "none";
  bool norm = false;             // a LayerNorm behind the linear, or the pooling
  bool normalize = false;        // divided by its length
  int prompts = 0;               // Model::prompt()
  int default_prompt = -1;       // that is put before texts where none is chosen; -1: none is
  bool excludes_prompt = false;  // tokens of a prompt are left out of the vector
  // Not 0: a text that is cut to n tokens is cut to n times as many code points before (model2vec).
  int64_t characters_per_token = 0;
};

// What may be put before a text that becomes a vector.
struct PromptInfo {
  std::string_view name;
  std::string_view text;  // with its space at the end, if it has one
};

// How tokens or vectors become the rows of the first layer.
struct EmbeddingInfo {
  bool reads_tokens = false;
  // Of vectors: their width, a norm, a linear to another width (0: none), another norm.
  int64_t vector_width = 0;
  bool vector_norm_in = false;
  int64_t vector_linear_width = 0;
  bool vector_norm_out = false;
  const char* prefix = "none";     // what is put before a text: "none", "row" (a learned one) or "token"
  int32_t prefix_token = -1;       // its id; -1: none
  const char* positions = "none";  // "none", "learned", "sinusoidal_halves" (sines, then cosines) or
                                   // "sinusoidal_interleaved" (in turn)
  int64_t position_offset = 0;     // learned: row of the first token
  bool positions_count_non_pad = false;
  int64_t token_types = 0;   // 0: it has no table of them
  int64_t factor_width = 0;  // of the token embedding, which a linear takes to the model's width; 0: not factorised
  bool norm = false;
  bool norm_before_factor = false;  // and of its width
  bool transform = false;           // a further linear
};

// Of one of a model's two encoders.
struct EncoderInfo {
  int64_t max_tokens = 0;
  int64_t vocabulary = 0;
  int32_t pad_id = -1;                // -1: none
  int64_t width = 0;                  // d_model
  const char* norm = "post";          // where norms are: "post" or "pre"
  const char* residual = "standard";  // "standard", "reversible" or "none"
  bool final_norm = false;
  bool output_linear = false;  // behind the last layer, to output_width
  int64_t output_width = 0;
  bool zero_masked_rows = false;     // masked rows of the output are zero
  int64_t encoder_states_width = 0;  // of the rows that cross attention reads; 0: no layer does
  int layers = 0;
  int projections = 0;  // as the file lists them; layers may share one
  EmbeddingInfo embedding;
};

struct LayerInfo {
  // heads / kv_heads heads of queries that follow one another share a head of keys and values.
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 0;  // of the scores
  bool value_is_key = false;
  bool causal = false;
  // Indices for Model::projection(): one that all heads share, or one for each. No values' where they are the keys.
  std::span<const uint32_t> key_projections, value_projections;
  const char* key_source = "own";  // "own", "encoder_states" or "encoder_states_or_own" (where there are any)
  const char* row_mask = "none";   // what attention does with masked rows: "none", "zeroed" or "excluded"
  const char* output_activation = "none";
  float rotary_base = 0;   // 0: no rotary positions
  float rotary_scale = 1;  // what those multiply positions by
  // So many rows on each side are what a row sees of the others as they are. 0: all, of full attention; else none.
  // Compressed keys are seen by every row, beside a window too.
  int64_t window = 0;
  const char* norm_kind = "layer";  // of the norms around attention and feed-forward network: "layer" or "rms"
  bool query_key_norms = false;     // queries or keys have norms of their own
  bool outer_norm = false;          // the sum of the layer's input and the normalised attention has a norm too
  bool position_bias = false;       // a bias on the scores by distance; compressed keys beside a window have none
  bool full_attention = false;      // none of its positions are compressed
  int64_t width = 0;                // of the rows that it reads
  int64_t ffn_width = 0;            // 0: it has no feed-forward network
  const char* activation = "gelu";  // of that
  bool gated = false;
};

// What compresses positions to k.
struct ProjectionInfo {
  const char* kind = "none";  // "linear", "convolution", "mean_pool", "max_pool" or "none" (full attention)
  int64_t k = 0;
  const char* order = "before_linear";  // of the key and value linears: "before_linear" or "after_linear"
  int64_t kernel = 0, stride = 0;       // convolution and pooling: a window's positions, and from one to the next
  int weight = -1, bias = -1;           // indices for Model::tensor(); -1: none
  // What each of the k rows of a text of n tokens is multiplied by: "none"; "inverse_root", 1 / sqrt(n); or
  // "restored_norm", the norm of its row of the weight over that of the row's first n elements.
  const char* length_scale = "none";
  // 0: all k compressed rows take part in attention in every text. Otherwise one row for each of the e exact tokens is
  // followed by k - e rows that stand in order for so many positions. In a text of n tokens, the first
  //   min(k, e + ceil((k - e) n / span))
  // rows take part, or none if the window of each token shows the whole text.
  int64_t span = 0;
  // Token ids. In a text that contains exact_tokens[i], the key and the value in compressed row i are copied from the
  // first such token that isn't masked; row i of E is not used. The span is valid as long as the model.
  std::span<const uint32_t> exact_tokens;
};

struct TokenizerInfo {
  static constexpr int32_t first_text = -1, second_text = -2;  // in the templates

  TokenizerKind kind = TokenizerKind::none;
  int64_t tokens = 0, merges = 0, added_tokens = 0;
  int32_t unk_id = -1, bos_id = -1, eos_id = -1, pad_id = -1, mask_id = -1;  // -1: none
  // What surrounds one text and two: ids, with first_text and second_text in the places of the texts. pair_types: the
  // token type of each item of pair_template; empty: all 0.
  std::span<const int32_t> single_template, pair_template;
  std::span<const uint8_t> pair_types;
  bool lowercase = false, strip_accents = false;
};

struct TensorInfo {
  std::string_view name;  // the checkpoint's
  ElementType type = ElementType::f32;
  const char* layout = "row_major";  // schema/FORMAT.md: "row_major", "panel16" or "padded_rows"
  std::span<const uint64_t> shape;   // as in the checkpoint
  uint64_t offset = 0;               // bytes from the beginning of the file's tensors
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64
};

}  // namespace LINFORMER_NAMESPACE
