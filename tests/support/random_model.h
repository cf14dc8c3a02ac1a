// Makes a Linformer of any shape with random weights, with the converter's own writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/writer/model_builder.h"
#include "linformer/model.h"
#include "linformer/session.h"

namespace linformer_test {

struct RandomHead {
  linformer::Pooling pooling = linformer::Pooling::first_token;
  linformer::Pairing pairing = linformer::Pairing::none;
  bool norm = false, dense = true;
  linformer::HeadKind kind = linformer::HeadKind::single_label;
  linformer::Activation score_activation = linformer::Activation::none;
  bool norm_after_dense = false;  // if `norm` and `dense` are true
};

// The names of classification heads, of their labels, and of the program and the dialect that made the file.
enum class RandomNames {
  plain,
  none,  // no labels
  odd    // names that tables, lists and terminals may show wrongly, and names as long as the format permits
};

// Norms of queries and keys: of each head by itself, or of all channels at once.
enum class HeadNorms { none, each, all };

struct RandomModel {
  uint64_t seed = 1;
  uint32_t n = 48;  // longest text
  uint32_t k = 12;
  uint32_t d_model = 32;
  uint32_t heads = 4;
  uint32_t head_dim = 0;  // if 0, d_model / heads
  uint32_t ffn = 64;      // if 0, layers have no FFN
  uint32_t layers = 2;
  uint32_t vocabulary = 50;
  bool shared_key_value = false;  // E = F
  bool shared_layers = false;
  bool pre_norm = false;
  linformer::ProjectionOrder order = linformer::ProjectionOrder::before_linear;  // of linear projections
  linformer::LengthScale length_scale = linformer::LengthScale::none;            // of those that are after_linear
  bool projection_bias = false;                                                  // of convolutions too
  bool linear_bias = true;
  bool transform = false, transform_before_norm = false;
  linformer::Activation activation = linformer::Activation::gelu;
  std::vector<uint32_t> head_classes = {3};  // one classification head for each entry
  bool masked_lm = true;
  bool tied_output = true;
  linformer::ElementType type = linformer::ElementType::f32;

  // Attention. `kinds` and `key_sources` go by layer: layer i takes entry i modulo their size.
  std::vector<linformer::ProjectionKind> kinds = {linformer::ProjectionKind::linear};
  bool each_head = false;              // every head has projections of its own
  uint32_t span = 0;                   // of linear projections
  std::vector<uint32_t> exact_tokens;  // of linear projections with at least as many rows
  uint32_t k_step = 0;                 // how much k decreases by layer, and by head with each_head; k is at least 1
  uint32_t kernel = 4, stride = 4;     // of convolution and pooling
  bool mixed_windows = false;  // convolution, mean and max in turn over layers, heads, keys/values; needs each_head
  bool one_kv_head = false, value_is_key = false, causal = false;
  bool mixed_kv_heads = false;  // the second layer, the fourth, ... has one key/value head
  uint32_t kv_heads = 0;        // a divisor of `heads`; if 0, one_kv_head and mixed_kv_heads apply
  HeadNorms head_norms = HeadNorms::none;
  linformer::RowMask row_mask = linformer::RowMask::none;
  std::vector<linformer::KeySource> key_sources = {linformer::KeySource::own};  // of the decoder if there is one
  uint32_t encoder_states_width = 0;                                            // used without a decoder; if 0, d_model
  bool position_bias = false;                                                   // of full attention, or of a window
  bool output_projection = true;
  uint32_t second_output = 0;  // width between the first and the second output projection
  linformer::Activation output_activation = linformer::Activation::none;

  // Layers. Each layer begins as a copy of `layer`, in which options are set that have no field of their own here.
  linformer::LayerDescription layer;
  linformer::ResidualKind residual = linformer::ResidualKind::standard;
  bool norms = true;
  linformer::NormKind norm_kind = linformer::NormKind::layer;
  bool outer_norm = false;         // of layers that can have one
  uint32_t between = 0;            // width between layers; if 0, d_model
  uint32_t attention_between = 0;  // width between attention and FFN in every other layer

  // Embedding and what follows the layers.
  bool pad = true;                // id 1
  bool fairseq_positions = true;  // only tokens that aren't pads are counted, pads become zero
  linformer::PositionKind position_kind = linformer::PositionKind::learned;
  bool given_frequencies = false;  // the frequencies of sinusoidal positions are in the file
  uint32_t embedding_width = 0;    // with a factor up to d_model
  float embedding_scale = 1.f;
  bool embedding_norm = true;
  bool norm_before_factor = false;  // if there are a norm and a factor
  uint32_t token_types = 0;
  uint32_t vector_width = 0;  // vectors instead of tokens
  bool vector_linear = true, vector_norms = true, prefix = false;
  bool prefix_token = false;
  uint32_t output_width = 0;  // the encoder's output projection
  bool zero_masked_rows = false;

  std::vector<RandomHead> head_kinds = {{}};  // head i takes entry i modulo their number
  bool sentence_embedding = false;
  linformer::Pooling embedding_pooling = linformer::Pooling::mean;
  uint32_t embedding_dense = 0;
  bool embedding_normalize = true;
  bool sentence_norm = false;  // of the sentence embedding

  bool decoder = false;  // of the same shape except for its key_sources

  // The following features are permitted by the format, but no dialect produces them. ModelBuilder refuses some
  // combinations of them with the options above, and Session refuses some valid ones as unsupported.
  bool list_values_of_keys = false;  // if value_is_key, values list the keys' projections
  bool one_side_by_head = false;     // either keys or values have a projection for each head
  bool mixed_kinds = false;          // `kinds` alternate over heads too
  bool mixed_orders = false;         // keys and values have different orders
  bool shared_weights = false;       // every layer has the tensors of the first one
  uint32_t unused_projections = 0;   // projections that no layer refers to
  bool norm_bias = true;
  bool mixed_norms = false, mixed_ffn = false, mixed_gates = false;  // every other layer has none
  bool masked_lm_dense = true;
  RandomNames names = RandomNames::plain;
};

// Returns a builder of the model. Unless `shape` says otherwise, the pad id is 1, positions are counted as in fairseq,
// and the rows of pads are zero.
linformer::writer::ModelBuilder random_builder(const RandomModel& shape);
// Returns the loaded model, which owns its bytes.
std::shared_ptr<const linformer::Model> random_model(const RandomModel& shape);
// Returns token ids in [4, vocabulary), or in [0, vocabulary) if `vocabulary` is at most 4. They depend only on the
// arguments.
std::vector<int32_t> random_ids(uint64_t seed, int64_t count, uint32_t vocabulary);

// An Input and the memory that it points to.
struct RandomInput {
  std::vector<int32_t> tokens;
  std::vector<float> vectors, encoder_states;
  std::vector<uint8_t> types, mask, query_mask, encoder_states_mask;
  linformer::Input view() const;
};
// Returns tokens or vectors, as the encoder takes them, and encoder states if it reads them. With `masks`, every
// seventh row, every fifth query and every third encoder state is masked, but never the first. If the model has a pad
// token, the tokens 3, 17, 31 and so on are pads, where the first token is 0.
RandomInput random_input(uint64_t seed, const linformer::EncoderDescription& encoder, int64_t rows, int64_t state_rows,
                         bool masks);

}  // namespace linformer_test
