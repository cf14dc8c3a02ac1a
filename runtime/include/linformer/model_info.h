// The properties of a model, for programs that show or check them or adapt to them. Model's functions fill these plain
// structs. Strings (which end with a 0 byte) and spans live as long as the model. A `const char*` points to a static
// name, such as "gelu", that is meant for people to read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct ModelInfo {
  std::string_view producer;  // The program that wrote the file, and its version.
  std::string_view dialect;   // The implementation that the checkpoint came from: "fairseq", ...
  uint32_t format = 0;        // The version of the file format.
  int64_t max_tokens = 0;     // N: the most tokens of a sequence, including the rows that the model puts before it.
  int64_t prefix_rows = 0;    // 0 or 1: the rows that the model puts before a sequence. n tokens make n + prefix_rows.
  int64_t vocabulary = 0;     // 0 if the model reads vectors.
  int64_t vector_width = 0;   // The width of the vectors that the model reads, or 0 if it reads tokens.
  int64_t width = 0;          // d_model, the width of the encoder's rows.
  int layers = 0;
  int heads = 0;  // The number of classification heads.
  int tensors = 0;
  int32_t pad_id = -1;   // -1: the model has no pad token.
  int32_t mask_id = -1;  // -1: the model has no mask token.
  TokenizerKind tokenizer = TokenizerKind::none;
  bool has_masked_lm = false;
  bool has_embedding = false;  // Whether the model says how a text becomes one vector.
  bool has_decoder = false;    // Whether the model is an encoder-decoder. Its heads then read the decoder's rows.
};

// A classification head. It pools the rows, then applies the optional norm, linear layer and activation, and then the
// linear layer that gives the outputs. If norm_after_dense is true, the norm comes after the activation.
struct HeadInfo {
  std::string_view name;
  HeadKind kind = HeadKind::single_label;
  int64_t classes = 0;  // The number of outputs.
  bool has_labels = false;
  bool compares_two = false;  // The head gives one row of scores for two texts, each of which is a sequence.
  bool each_token = false;    // The head gives a row of scores for each token.
  bool spans = false;  // The scores are the logits of the begin and of the end of a span, as Answerer needs them.
  Pooling pooling = Pooling::first_token;
  bool norm = false;
  bool dense = false;  // Whether a linear layer with `activation` comes before the layer that gives the outputs.
  bool norm_after_dense = false;
  const char* activation = "none";
  const char* score_activation = "none";  // For HeadKind::score: the function that makes the probability of the output.
};

// The masked-LM head.
struct MaskedLmInfo {
  bool present = false;
  bool tied = false;  // Whether its weight is the token embedding.
  // Whether a linear layer with `activation` comes before the output. If not, the output reads the rows.
  bool dense = false;
  bool norm = false;
  const char* activation = "none";
};

// How the model makes one vector of a text: see Output::embeddings().
struct SentenceEmbeddingInfo {
  bool present = false;
  Pooling pooling = Pooling::mean;
  // The width of the vector that a linear layer after the pooling gives. 0: there is no such layer.
  int64_t linear_width = 0;
  const char* activation = "none";
  // Whether a LayerNorm comes after the linear layer, or after the pooling if there is no linear layer.
  bool norm = false;
  bool normalize = false;  // Whether the vector is divided by its length.
  int prompts = 0;         // The number of prompts: see Model::prompt().
  // The index of the prompt that is used if the caller chooses none. -1: the model has no default prompt.
  int default_prompt = -1;
  bool excludes_prompt = false;  // Whether the tokens of a prompt are left out of the vector.
  // If this isn't 0, a text that is cut to n tokens is first cut to n * characters_per_token code points (model2vec).
  int64_t characters_per_token = 0;
};

// A text that is put before each text that becomes a vector.
struct PromptInfo {
  std::string_view name;
  std::string_view text;  // If the prompt ends with a space, the space is included.
};

// How tokens or vectors become the rows of the first layer.
struct EmbeddingInfo {
  bool reads_tokens = false;
  // For vectors: their width, an optional norm, an optional linear layer to another width (0: there is none), and
  // another optional norm.
  int64_t vector_width = 0;
  bool vector_norm_in = false;
  int64_t vector_linear_width = 0;
  bool vector_norm_out = false;
  const char* prefix = "none";  // What is put before a sequence: "none", "row" (a learned row) or "token".
  int32_t prefix_token = -1;    // The id of that token, or -1.
  // "none", "learned", "sinusoidal_halves" (all sines, then all cosines) or "sinusoidal_interleaved" (sines and cosines
  // by turns).
  const char* positions = "none";
  int64_t position_offset = 0;  // For learned positions: the row of the table that the first token uses.
  bool positions_count_non_pad = false;
  int64_t token_types = 0;  // The number of token types. 0: the model has no table of types.
  // The width of a factorised token embedding, which a linear layer (the factor) maps to the model's width. 0: the
  // embedding isn't factorised.
  int64_t factor_width = 0;
  bool norm = false;
  bool norm_before_factor = false;  // Whether the norm comes before the factor, and so has factor_width elements.
  bool transform = false;           // Whether there is another linear layer.
};

// One of a model's encoders: the encoder itself, or the decoder of an encoder-decoder.
struct EncoderInfo {
  int64_t max_tokens = 0;
  int64_t vocabulary = 0;
  int32_t pad_id = -1;                // -1: there is no pad token.
  int64_t width = 0;                  // d_model
  const char* norm = "post";          // "post": norms come after attention and feed-forward network; "pre": before.
  const char* residual = "standard";  // "standard", "reversible" or "none"
  bool final_norm = false;
  bool output_linear = false;  // Whether a linear layer to output_width comes after the last layer.
  int64_t output_width = 0;
  bool zero_masked_rows = false;  // Whether masked rows of the output are set to zero.
  // The width of the rows that cross attention reads. 0: no layer has cross attention.
  int64_t encoder_states_width = 0;
  int layers = 0;
  int projections = 0;  // The number of entries in the file's list of projections. Several layers may share one.
  EmbeddingInfo embedding;
};

struct LayerInfo {
  // Each group of heads / kv_heads successive query heads shares one head of keys and values.
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 0;  // The factor that scores are multiplied by.
  bool value_is_key = false;
  bool causal = false;
  // Indices for Model::projection(): one index if all heads share a projection, or one for each head. value_projections
  // is empty if the values are the keys.
  std::span<const uint32_t> key_projections, value_projections;
  // Where keys and values come from: "own" rows of the layer, "encoder_states" that the caller passes (cross
  // attention), or "encoder_states_or_own" (the encoder states if the caller passes some, otherwise the layer's own
  // rows).
  const char* key_source = "own";
  // What attention does with the keys and values of masked rows: "none", "zeroed" (they are zero and still count) or
  // "excluded" (the softmax leaves them out).
  const char* row_mask = "none";
  const char* output_activation = "none";
  float rotary_base = 0;   // 0: there are no rotary positions.
  float rotary_scale = 1;  // The factor that positions are multiplied by before the rotation.
  // A row sees the uncompressed rows that are at most this many positions away. 0 means all rows in full attention, and
  // none if keys are compressed. Every row sees the compressed keys, also in a layer with a window.
  int64_t window = 0;
  // The kind of the norms around attention and feed-forward network: "layer" or "rms".
  const char* norm_kind = "layer";
  bool query_key_norms = false;  // Whether queries or keys have norms of their own.
  bool outer_norm = false;  // Whether the sum of the layer's input and the normalised attention output has a norm, too.
  // Whether a bias that depends on the distance of two positions is added to the scores. Compressed keys beside a
  // window have no such bias.
  bool position_bias = false;
  bool full_attention = false;      // Whether none of the layer's keys and values are compressed.
  int64_t width = 0;                // The width of the rows that the layer reads.
  int64_t ffn_width = 0;            // The inner width of the feed-forward network. 0: there is no such network.
  const char* activation = "gelu";  // The activation of the feed-forward network.
  bool gated = false;
};

// A projection that compresses the keys or values of a sequence's positions to k rows.
struct ProjectionInfo {
  const char* kind = "none";  // "linear", "convolution", "mean_pool", "max_pool" or "none" (full attention).
  int64_t k = 0;
  // Whether the projection comes before or after the linear layer of the keys or values: "before_linear" or
  // "after_linear".
  const char* order = "before_linear";
  // For convolution and pooling: the positions in a window, and the distance of two windows.
  int64_t kernel = 0, stride = 0;
  int weight = -1, bias = -1;  // Indices for Model::tensor(). -1: there is no such tensor.
  // The factor of each of the k compressed rows in a sequence of n tokens: "none", "inverse_root" (1 / sqrt(n)) or
  // "restored_norm" (the norm of the row of the weight divided by the norm of that row's first n elements).
  const char* length_scale = "none";
  // If `span` is 0, all k compressed rows take part in attention in every sequence. Otherwise there is one row for each
  // of the e exact tokens, followed by k - e rows that divide the positions 0 to span - 1 among them, in order. In a
  // sequence of n tokens, the first
  //   min(k, e + ceil((k - e) n / span))
  // rows take part, or none if each token's window covers the whole sequence.
  int64_t span = 0;
  // Token ids. In a sequence that contains exact_tokens[i], the key and the value in compressed row i are copies of the
  // key and value of the first such token that isn't masked, and row i of the weight is not used. The span is valid as
  // long as the model.
  std::span<const uint32_t> exact_tokens;
};

struct TokenizerInfo {
  static constexpr int32_t first_text = -1, second_text = -2;  // Stand for the texts in the templates.

  TokenizerKind kind = TokenizerKind::none;
  int64_t tokens = 0, merges = 0, added_tokens = 0;
  int32_t unk_id = -1, bos_id = -1, eos_id = -1, pad_id = -1, mask_id = -1;  // -1: the tokenizer has no such token.
  // The tokens around one text and around two texts: ids, with first_text and second_text in the places of the texts.
  // pair_types is the token type of each item of pair_template. If it is empty, all types are 0.
  std::span<const int32_t> single_template, pair_template;
  std::span<const uint8_t> pair_types;
  bool lowercase = false, strip_accents = false;
};

struct TensorInfo {
  std::string_view name;  // The tensor's name in the checkpoint.
  ElementType type = ElementType::f32;
  const char* layout = "row_major";  // "row_major", "panel16" or "padded_rows": see schema/FORMAT.md.
  std::span<const uint64_t> shape;   // The shape in the checkpoint.
  uint64_t offset = 0;               // In bytes, from the beginning of the file's tensors.
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of the bytes.
};

}  // namespace LINFORMER_NAMESPACE
