#include "reference/unusual_shape.h"

#include <algorithm>
#include <stdexcept>

#include "base/description.h"
#include "converter/writer/write_error.h"
#include "reference/random_case.h"
#include "support/chance.h"

namespace linformer_test {
namespace {

using namespace linformer;

constexpr int most_attempts = 1000;  // Many times more than any shape needs.

// Gives the model a head for each number of outputs in `classes`. The kind of each head permits its number.
void set_heads(Chance& chance, RandomModel* shape, const std::vector<uint32_t>& classes) {
  shape->head_classes = classes;
  shape->head_kinds.clear();
  for (const uint32_t count : classes) {
    RandomHead head;
    head.pooling = chance.one_of(
        {Pooling::first_token, Pooling::mean, Pooling::mean_over_max_tokens, Pooling::max, Pooling::none});
    if (head.pooling != Pooling::none && chance.one_in(4)) head.pairing = Pairing::product_difference;
    head.norm = chance.one_in(2);
    head.dense = chance.one_in(2);
    head.kind = count == 1 ? chance.one_of({HeadKind::score, HeadKind::multi_label, HeadKind::regression})
                           : chance.one_of({HeadKind::single_label, HeadKind::multi_label, HeadKind::regression});
    if (head.kind == HeadKind::score) {
      head.score_activation =
          chance.one_of({Activation::none, Activation::sigmoid, Activation::relu, Activation::gelu});
    }
    shape->head_kinds.push_back(head);
  }
}

void make_smallest(Chance& chance, RandomModel* shape) {
  for (uint32_t* one : {&shape->n, &shape->k, &shape->d_model, &shape->heads, &shape->head_dim, &shape->layers,
                        &shape->kernel, &shape->stride, &shape->token_types}) {
    if (!chance.one_in(4)) *one = 1;
  }
  for (uint32_t* some : {&shape->ffn, &shape->second_output, &shape->between, &shape->attention_between,
                         &shape->embedding_width, &shape->vector_width, &shape->output_width,
                         &shape->encoder_states_width, &shape->embedding_dense, &shape->layer.attention.window}) {
    if (*some != 0) *some = 1;
  }
  if (!chance.one_in(4)) shape->vocabulary = chance.one_of({1u, 2u, 5u});
  if (shape->vocabulary == 1) shape->pad = shape->fairseq_positions = false;
  set_heads(chance, shape, {1});
}

void make_largest(Chance& chance, RandomModel* shape) {
  switch (chance.pick(0, 5)) {
    case 0:
      shape->layers = chance.pick(12, 40);
      break;
    case 1:
      shape->heads = chance.pick(30, 100);
      shape->head_dim = chance.pick(1, 3);
      break;
    case 2:
      shape->head_dim = chance.pick(130, 300);
      break;
    case 3:
      shape->n = chance.pick(300, 700);
      shape->k = shape->n + chance.pick(0, 100);  // At least as many rows as the model takes tokens.
      shape->kernel = chance.one_in(2) ? shape->n : 1;
      shape->stride = chance.one_in(2) ? max_dimension : 1;
      break;
    case 4:
      set_heads(chance, shape, std::vector<uint32_t>(chance.pick(20, 60), chance.pick(1, 3)));
      break;
    default:
      set_heads(chance, shape, {chance.pick(1000, 5000), 1});
      shape->vocabulary = chance.pick(500, 3000);
      shape->token_types = shape->vector_width == 0 ? 256 : 0;
  }
}

void make_empty(Chance& chance, RandomModel* shape) {
  const auto mostly = [&] { return !chance.one_in(4); };
  if (mostly()) shape->head_classes.clear();
  if (mostly()) shape->masked_lm = false;
  if (mostly()) shape->sentence_embedding = false;
  if (mostly()) shape->norms = shape->embedding_norm = false;
  if (mostly()) shape->ffn = 0;
  if (shape->ffn == 0) shape->layer.gated = false;
  if (mostly()) shape->position_kind = PositionKind::none;
  if (mostly()) shape->pad = shape->fairseq_positions = false;
  if (mostly()) shape->linear_bias = shape->projection_bias = false;
  if (mostly()) shape->value_is_key = true;
  if (mostly()) shape->names = RandomNames::none;
  if (chance.one_in(2)) {
    shape->output_projection = false;
    shape->second_output = 0;
    shape->heads = chance.one_of({1u, 2u});
    shape->head_dim = shape->d_model / shape->heads;
  }
}

void make_shared(Chance& chance, RandomModel* shape) {
  shape->layers = chance.pick(2, 5);
  shape->shared_weights = chance.one_in(2);
  shape->shared_layers = chance.one_in(2);
  shape->shared_key_value = chance.one_in(2);
  shape->unused_projections = chance.pick(0, 3);
  shape->value_is_key = chance.one_in(2);
  shape->list_values_of_keys = shape->value_is_key && chance.one_in(2);
  shape->one_kv_head = chance.one_in(2);
  shape->tied_output = true;
}

void make_mixed(Chance& chance, RandomModel* shape) {
  shape->layers = chance.pick(2, 5);
  shape->mixed_norms = chance.one_in(2);
  shape->mixed_ffn = chance.one_in(2);
  shape->layer.gated = shape->ffn != 0 && chance.one_in(2);
  shape->mixed_gates = shape->layer.gated && chance.one_in(2);
  shape->mixed_kv_heads = chance.one_in(2);
  shape->mixed_kinds = chance.one_in(3);
  shape->mixed_orders = chance.one_in(3);
  shape->masked_lm_dense = chance.one_in(2);
  shape->norm_bias = !chance.one_in(6);
  if (!chance.one_in(2) || shape->value_is_key) return;
  shape->one_side_by_head = true;
  shape->shared_key_value = false;
  shape->k_step = 0;
}

void make_named(Chance& chance, RandomModel* shape) {
  shape->names = RandomNames::odd;
  if (chance.one_in(2)) set_heads(chance, shape, {chance.pick(1, 20), chance.pick(1, 4), 2});
}

// Makes a model with groups of query heads, norms of queries and keys, and other kinds of norms.
void make_grouped(Chance& chance, RandomModel* shape) {
  shape->kv_heads = chance.pick(1, 4);
  shape->heads = shape->kv_heads * chance.pick(1, 4);
  shape->head_dim = 2 * chance.pick(1, 20);
  shape->one_kv_head = shape->mixed_kv_heads = false;
  shape->norm_kind = chance.one_of({NormKind::layer, NormKind::rms});
  shape->norm_bias = chance.one_in(2);
  shape->head_norms = chance.one_of({HeadNorms::none, HeadNorms::each, HeadNorms::all});
  shape->outer_norm = chance.one_in(2);
}

// Makes a model with a window beside compressed keys.
void make_beside(Chance& chance, RandomModel* shape) {
  shape->kinds = {ProjectionKind::linear};
  if (chance.one_in(4)) shape->kinds.push_back(ProjectionKind::none);
  shape->order = ProjectionOrder::after_linear;
  shape->length_scale = LengthScale::none;
  shape->each_head = shape->one_side_by_head = shape->causal = false;
  shape->key_sources = {KeySource::own};
  shape->decoder = false;
  shape->encoder_states_width = 0;
  if (shape->row_mask == RowMask::excluded) shape->row_mask = RowMask::none;
  shape->k_step = 0;
  shape->k = chance.one_in(8) ? chance.pick(513, 700) : chance.pick(1, 60);
  shape->span = chance.one_in(3) ? 0 : chance.pick(1, shape->n);
  if (shape->vector_width == 0 && !chance.one_in(3)) {
    for (uint32_t i = chance.pick(1, 8); i > 0; --i)
      shape->exact_tokens.push_back(chance.pick(0, shape->vocabulary - 1));
  }
  shape->layer.attention.window = chance.one_of({1u, 2u, 7u, 31u, 32u, 33u, 64u, 1000u});
  if (chance.one_in(2)) make_grouped(chance, shape);
  shape->position_bias = chance.one_in(2);
}

void make_unusual(Unusual kind, Chance& chance, RandomModel* shape) {
  switch (kind) {
    case Unusual::smallest:
      return make_smallest(chance, shape);
    case Unusual::largest:
      return make_largest(chance, shape);
    case Unusual::empty:
      return make_empty(chance, shape);
    case Unusual::shared:
      return make_shared(chance, shape);
    case Unusual::mixed:
      return make_mixed(chance, shape);
    case Unusual::named:
      return make_named(chance, shape);
    case Unusual::grouped:
      return make_grouped(chance, shape);
    case Unusual::beside:
      return make_beside(chance, shape);
    case Unusual::combined:
      for (uint64_t i = 0; i + 1 < unusual_kinds; ++i) {
        if (chance.one_in(2)) make_unusual(static_cast<Unusual>(i), chance, shape);
      }
  }
}

bool is_valid(const RandomModel& shape) {
  try {
    random_builder(shape).serialize();
    return true;
  } catch (const writer::WriteError&) {
    return false;
  }
}

}  // namespace

const char* name_of(Unusual kind) {
  static constexpr const char* names[unusual_kinds] = {"smallest", "largest", "empty",  "shared",  "mixed",
                                                       "named",    "grouped", "beside", "combined"};
  return names[static_cast<size_t>(kind)];
}

// The file format restricts which options may be combined. If it refuses a shape, another one is chosen.
RandomModel unusual_shape(uint64_t index) {
  Chance chance(~index);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    RandomModel shape = random_shape(chance.number());
    shape.type = chance.one_of({ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8});
    make_unusual(static_cast<Unusual>(index % unusual_kinds), chance, &shape);
    if (is_valid(shape)) return shape;
  }
  throw std::logic_error("no valid model of the kind " +
                         std::string(name_of(static_cast<Unusual>(index % unusual_kinds))));
}

}  // namespace linformer_test
