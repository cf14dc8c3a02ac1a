#include "reference/random_case.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "base/description.h"
#include "reference/description_json.h"
#include "reference/unusual_shape.h"
#include "support/chance.h"

namespace linformer_test {
namespace {

using namespace linformer;

// Chooses the projections. Every ninth model has one linear projection for all heads. In the other models the kind of
// the first layer is each of the five kinds equally often, and most models have a second kind in every other layer.
void choose_projections(Chance& chance, uint64_t index, RandomModel* shape) {
  shape->shared_key_value = chance.one_in(2);
  shape->shared_layers = chance.one_in(6);
  shape->projection_bias = chance.one_in(2);
  shape->order = chance.one_of({ProjectionOrder::before_linear, ProjectionOrder::after_linear});
  shape->kernel = chance.pick(1, 9);
  shape->stride = chance.pick(1, shape->kernel + 2);
  if (index % 9 == 0) return;
  constexpr ProjectionKind kinds[] = {ProjectionKind::linear, ProjectionKind::convolution, ProjectionKind::mean_pool,
                                      ProjectionKind::max_pool, ProjectionKind::none};
  const uint64_t first = index % 5, second = (first + 1 + index / 5 % 4) % 5;
  shape->kinds = {kinds[first]};
  shape->each_head = first == 0 || !chance.one_in(3);
  if (!chance.one_in(kinds[first] == ProjectionKind::none ? 2 : 5)) {
    shape->kinds.push_back(kinds[second]);
    shape->each_head = shape->each_head || second == 0;
    shape->shared_layers = false;
  }
  shape->k_step = shape->each_head ? chance.pick(1, 3) : 0;
  shape->mixed_windows = shape->each_head && !shape->shared_key_value && chance.one_in(5);
}

void choose_attention(Chance& chance, RandomModel* shape) {
  shape->one_kv_head = chance.one_in(4);
  shape->value_is_key = chance.one_in(5);
  shape->causal = chance.one_in(3);
  const bool all_full = shape->kinds == std::vector{ProjectionKind::none};
  const bool linear = std::count(shape->kinds.begin(), shape->kinds.end(), ProjectionKind::linear) != 0;
  if (all_full && chance.one_in(2)) {
    shape->row_mask = RowMask::excluded;
  } else if ((!linear || shape->order == ProjectionOrder::after_linear) && chance.one_in(2)) {
    shape->row_mask = RowMask::zeroed;
  }
  if (chance.one_in(4))
    shape->output_activation = chance.one_of({Activation::relu, Activation::gelu, Activation::tanh});
  if (chance.one_in(4)) shape->second_output = chance.pick(3, 50);
  if (chance.one_in(4)) {
    shape->key_sources = chance.one_of<std::vector<KeySource>>(
        {{KeySource::encoder_states}, {KeySource::own, KeySource::encoder_states}, {KeySource::encoder_states_or_own}});
    shape->decoder = chance.one_in(3);
  }
}

// Removes the output projection, so that the concatenated heads are the output of attention.
void drop_output(Chance& chance, RandomModel* shape) {
  shape->output_projection = false;
  shape->second_output = 0;
  shape->heads = chance.one_of({1u, 2u, 7u});
  shape->head_dim = shape->d_model / shape->heads;
}

void choose_layers(Chance& chance, RandomModel* shape) {
  shape->layers = chance.pick(static_cast<uint32_t>(std::max(shape->key_sources.size(), shape->kinds.size())), 3);
  shape->pre_norm = chance.one_in(2);
  shape->linear_bias = !chance.one_in(4);
  shape->activation =
      chance.one_of({Activation::gelu, Activation::relu, Activation::gelu_tanh, Activation::leaky_relu});
  shape->ffn = chance.one_in(8) ? 0 : chance.pick(5, 90);
  shape->norms = !chance.one_in(8);
  const bool any_states = shape->key_sources != std::vector{KeySource::own};
  const bool encoder_states_or_own = shape->key_sources[0] == KeySource::encoder_states_or_own;
  switch (chance.pick(0, 7)) {
    case 0:
    case 1:
      if (shape->ffn == 0) break;
      shape->residual = ResidualKind::reversible;
      shape->pre_norm = true;
      return;
    case 2:
      shape->residual = ResidualKind::none;
      if (chance.one_in(2)) drop_output(chance, shape);
      return;
    case 3:
      if (encoder_states_or_own) break;
      shape->between = chance.pick(10, 60);
      return;
    case 4:
      if (encoder_states_or_own) break;
      shape->attention_between = chance.pick(10, 60);
      return;
    case 5:
      drop_output(chance, shape);
      return;
    default:
      break;
  }
  if (any_states && !encoder_states_or_own && chance.one_in(2)) shape->encoder_states_width = chance.pick(5, 40);
}

void choose_embedding_and_outputs(Chance& chance, RandomModel* shape) {
  shape->vocabulary = chance.pick(10, 70);
  shape->pad = !chance.one_in(4);
  shape->fairseq_positions = chance.one_in(2);
  shape->position_kind = chance.one_of({PositionKind::none, PositionKind::learned, PositionKind::learned,
                                        PositionKind::sinusoidal_halves, PositionKind::sinusoidal_interleaved});
  shape->given_frequencies = chance.one_in(2);
  if (chance.one_in(3)) shape->embedding_width = 2 * chance.pick(3, 30);
  shape->embedding_scale = chance.one_of({1.f, 1.f, 2.5f});
  shape->embedding_norm = !chance.one_in(4);
  shape->transform = chance.one_in(4);
  shape->transform_before_norm = chance.one_in(2);
  shape->token_types = chance.one_in(3) ? chance.pick(1, 3) : 0;
  if (chance.one_in(5)) {
    shape->vector_width = 2 * chance.pick(2, 30);
    shape->vector_linear = !chance.one_in(3);
    if (!shape->vector_linear) shape->embedding_width = 0;
    shape->vector_norms = chance.one_in(2);
    shape->prefix = chance.one_in(2);
  } else {
    shape->prefix_token = chance.one_in(5);
  }
  // The decoder's encoder states are as wide as the encoder's output.
  const bool encoder_states_or_own = shape->key_sources[0] == KeySource::encoder_states_or_own;
  if (chance.one_in(4) && !(shape->decoder && encoder_states_or_own)) shape->output_width = chance.pick(4, 60);
  shape->zero_masked_rows = chance.one_in(3);
  shape->head_classes = {chance.pick(1, 5), chance.pick(2, 20)};
  shape->head_kinds.clear();
  for (int i = 0; i < 2; ++i) {
    RandomHead head;
    head.pooling = chance.one_of(
        {Pooling::first_token, Pooling::mean, Pooling::mean_over_max_tokens, Pooling::max, Pooling::none});
    if (head.pooling != Pooling::none && chance.one_in(4)) head.pairing = Pairing::product_difference;
    head.norm = chance.one_in(3);
    head.dense = !chance.one_in(3);
    if (chance.one_in(3)) head.kind = HeadKind::multi_label;
    shape->head_kinds.push_back(head);
  }
  shape->sentence_embedding = chance.one_in(2);
  shape->embedding_pooling = chance.one_of({Pooling::first_token, Pooling::mean, Pooling::max});
  shape->embedding_dense = chance.one_in(2) ? chance.pick(3, 40) : 0;
  shape->embedding_normalize = chance.one_in(2);
  shape->tied_output = chance.one_in(2);
  shape->type = chance.one_of({ElementType::f32, ElementType::bf16, ElementType::f16});
}

// Chooses gates, rotary positions, position biases and windows. `chance` has its own seed, so the choices of the other
// functions stay the same.
void choose_version_3(Chance chance, RandomModel* shape) {
  const bool own = shape->key_sources == std::vector{KeySource::own};
  const bool linear = std::count(shape->kinds.begin(), shape->kinds.end(), ProjectionKind::linear) != 0;
  const bool compressed_first = linear && shape->order == ProjectionOrder::before_linear;
  shape->layer.gated = chance.one_in(4) && shape->ffn != 0;
  if (shape->layer.gated && chance.one_in(2)) shape->activation = Activation::silu;
  AttentionDescription& attention = shape->layer.attention;
  if (chance.one_in(2) && own && !compressed_first && !shape->value_is_key && shape->head_dim % 2 == 0) {
    attention.rotary_base = chance.one_of({10000.f, 500.f});
  }
  if (!own || shape->kinds != std::vector{ProjectionKind::none}) return;
  shape->position_bias = chance.one_in(2);
  // Each query must attend to a row even if other rows are excluded.
  if (chance.one_in(2) && shape->row_mask != RowMask::excluded) attention.window = chance.pick(1, shape->n);
}

void choose_version_4(Chance chance, RandomModel* shape) {
  for (size_t i = 0; i < shape->head_kinds.size(); ++i) {
    RandomHead& head = shape->head_kinds[i];
    if (shape->head_classes[i] == 1) {
      head.kind = chance.one_of({HeadKind::score, HeadKind::score, HeadKind::multi_label, HeadKind::regression});
    } else if (chance.one_in(4)) {
      head.kind = HeadKind::regression;
    }
    if (head.kind != HeadKind::score) continue;
    head.score_activation = chance.one_of({Activation::none, Activation::sigmoid, Activation::tanh});
  }
}

void choose_version_5(Chance chance, RandomModel* shape) {
  shape->norm_before_factor = chance.one_in(2);
  if (shape->layer.attention.rotary_base != 0 && chance.one_in(2)) shape->layer.attention.rotary_scale = 0.9375f;
  for (RandomHead& head : shape->head_kinds) {
    head.norm_after_dense = head.norm && head.dense && chance.one_in(2);
    if (head.pooling == Pooling::mean && chance.one_in(2)) head.pooling = Pooling::weighted_mean;
    if (head.pooling == Pooling::max && chance.one_in(2)) head.pooling = Pooling::last_token;
  }
  shape->sentence_norm = chance.one_in(3);
  if (chance.one_in(3)) shape->embedding_pooling = chance.one_of({Pooling::last_token, Pooling::weighted_mean});
}

void choose_version_6(Chance chance, RandomModel* shape) {
  if (shape->row_mask != RowMask::none || shape->order != ProjectionOrder::after_linear || chance.one_in(3)) return;
  shape->length_scale = chance.one_of({LengthScale::inverse_root, LengthScale::restored_norm});
}

// Chooses a shape. `chance` must be seeded with `index`.
RandomModel choose_shape(Chance& chance, uint64_t index) {
  RandomModel shape;
  shape.seed = chance.number();
  shape.n = chance.one_in(5) ? chance.pick(130, 330) : chance.pick(3, 90);
  shape.k = chance.pick(1, std::min(shape.n, 40u));
  shape.heads = chance.pick(1, 5);
  shape.head_dim = chance.pick(3, 21);
  shape.d_model = 14 * chance.pick(1, 3);
  choose_projections(chance, index, &shape);
  if (shape.kinds[0] == ProjectionKind::none && chance.one_in(3)) shape.n = chance.pick(257, 1100);
  choose_attention(chance, &shape);
  choose_layers(chance, &shape);
  choose_embedding_and_outputs(chance, &shape);
  choose_version_3(Chance(~index), &shape);
  choose_version_4(Chance(index ^ 0x5555), &shape);
  choose_version_5(Chance(index ^ 0x3333), &shape);
  choose_version_6(Chance(index ^ 0x6666), &shape);
  return shape;
}

// Returns a mask with some zeros from row `first` on, or no mask for half of the texts.
std::vector<uint8_t> choose_mask(Chance& chance, size_t count, size_t first) {
  std::vector<uint8_t> mask;
  if (chance.one_in(2)) return mask;
  mask.resize(count, 1);
  for (size_t i = first; i < count; ++i) mask[i] = !chance.one_in(6);
  return mask;
}

// Returns the number of rows that are neither padding nor masked.
int64_t unmasked(const RandomInput& input, int32_t pad_id, size_t rows) {
  int64_t count = 0;
  for (size_t i = 0; i < rows; ++i) {
    const bool pad = !input.tokens.empty() && input.tokens[i] == pad_id;
    count += !pad && (input.mask.empty() || input.mask[i] != 0);
  }
  return count;
}

RandomInput choose_input(Chance& chance, const RandomCase& c, uint32_t rows, bool masks, bool with_states) {
  const RandomModel& shape = c.shape;
  const int32_t pad_id = c.encoder().pad_id;
  // If masked rows are left out of the softmax, each query must attend to at least one unmasked row.
  const size_t first = shape.row_mask == RowMask::excluded ? 1 : 0;
  RandomInput input;
  if (shape.vector_width != 0) {
    input.vectors = chance.floats(size_t{rows} * shape.vector_width);
  } else {
    input.tokens = random_ids(chance.number(), rows, shape.vocabulary);
    for (size_t i = first; pad_id >= 0 && i < rows; ++i) {
      if (chance.one_in(8)) input.tokens[i] = pad_id;
    }
  }
  if (masks) {
    input.mask = choose_mask(chance, rows, first);
    input.query_mask = choose_mask(chance, rows, 0);
  }
  if (unmasked(input, pad_id, rows) == 0) {
    if (!input.tokens.empty()) input.tokens[0] = shape.vocabulary > 4 ? 4 : 0;
    input.mask.clear();
  }
  for (uint32_t i = 0; shape.token_types != 0 && masks && i < rows; ++i) {
    input.types.push_back(static_cast<uint8_t>(chance.pick(0, shape.token_types - 1)));
  }
  if (with_states) {
    const uint32_t state_rows = chance.one_in(3) ? rows : chance.one_of({1u, shape.n, chance.pick(1, shape.n)});
    input.encoder_states = chance.floats(size_t{state_rows} * c.encoder().encoder_states_width);
    if (masks) input.encoder_states_mask = choose_mask(chance, state_rows, first);
  }
  return input;
}

}  // namespace

const EncoderDescription& RandomCase::encoder() const {
  const ModelDescription& description = model->description();
  return options.run.part == Part::decoder ? description.decoder : description.encoder;
}

bool RandomCase::has_heads() const { return shape.decoder == (options.run.part == Part::decoder); }

std::vector<Input> RandomCase::views() const {
  std::vector<Input> result;
  for (const RandomInput& input : inputs) result.push_back(input.view());
  return result;
}

namespace {

// Returns a case of this model with a random batch.
RandomCase case_of(const RandomModel& shape, Chance chance) {
  RandomCase c;
  c.shape = shape;
  c.model = random_model(c.shape);
  if (c.shape.decoder && !chance.one_in(3)) c.options.run.part = Part::decoder;
  c.options.run.padding = chance.one_of({Padding::strip, Padding::keep});
  const bool paired = std::any_of(c.shape.head_kinds.begin(), c.shape.head_kinds.end(),
                                  [](const RandomHead& head) { return head.pairing != Pairing::none; });
  const bool masks = chance.one_in(2);
  const bool or_own = c.shape.key_sources[0] == KeySource::encoder_states_or_own;
  const bool with_states = c.encoder().encoder_states_width != 0 && !(or_own && chance.one_in(2));
  const bool prefix = c.encoder().embedding.prefix != absent || c.encoder().embedding.prefix_token >= 0;
  const uint32_t longest = c.shape.n - (prefix ? 1 : 0);
  std::vector<uint32_t> lengths = {chance.pick(1, longest), 1, longest};
  if (paired) lengths.push_back(chance.pick(1, longest));
  for (uint32_t length : lengths) {
    c.inputs.push_back(choose_input(chance, c, length, masks, with_states));
    const RandomInput& input = c.inputs.back();
    const int64_t kept = c.options.run.padding == Padding::keep ? length : unmasked(input, c.encoder().pad_id, length);
    const int64_t text = static_cast<int64_t>(c.inputs.size()) - 1;
    c.mlm_positions.push_back({text, kept - 1});
    c.mlm_positions.push_back({text, 0});
    const int64_t rows = kept + prefix;
    c.options.memory.max_tokens = std::max(c.options.memory.max_tokens, rows);
    c.options.memory.max_rows += rows;
    const size_t state_rows = input.encoder_states.size() / std::max(1u, c.encoder().encoder_states_width);
    c.options.memory.max_encoder_states =
        std::max(c.options.memory.max_encoder_states, static_cast<int64_t>(state_rows));
  }
  if (chance.one_in(2))
    c.options.memory.max_tokens = c.options.memory.max_rows = c.options.memory.max_encoder_states = 0;
  c.options.memory.max_batch = static_cast<int64_t>(lengths.size());
  c.features = features_of(c);
  return c;
}

}  // namespace

RandomModel random_shape(uint64_t index) {
  Chance chance(index);
  return choose_shape(chance, index);
}

RandomCase random_case(uint64_t index) {
  Chance chance(index);
  const RandomModel shape = choose_shape(chance, index);
  return case_of(shape, chance);
}

RandomCase unusual_case(uint64_t index) {
  RandomCase c = case_of(unusual_shape(index), Chance(index));
  c.features.insert(std::string("unusual, ") + name_of(static_cast<Unusual>(index % unusual_kinds)));
  return c;
}

void RandomCase::write(const std::string& path) const {
  using nlohmann::json;
  std::vector<float> numbers;
  json result = {{"model", description_json(*model, &numbers)},
                 {"part", options.run.part == Part::decoder ? "decoder" : "encoder"},
                 {"padding", options.run.padding == Padding::keep ? "keep" : "strip"},
                 {"has_heads", has_heads()},
                 {"inputs", json::array()},
                 {"mlm_positions", json::array()}};
  const auto place = [&](const std::vector<float>& values, size_t width) -> json {
    if (values.empty()) return nullptr;
    const size_t offset = numbers.size();
    numbers.insert(numbers.end(), values.begin(), values.end());
    return {{"offset", offset}, {"rows", values.size() / width}, {"width", width}};
  };
  for (const RandomInput& input : inputs) {
    result["inputs"].push_back({{"tokens", input.tokens},
                                {"vectors", place(input.vectors, shape.vector_width)},
                                {"types", input.types},
                                {"mask", input.mask},
                                {"query_mask", input.query_mask},
                                {"encoder_states", place(input.encoder_states, encoder().encoder_states_width)},
                                {"encoder_states_mask", input.encoder_states_mask}});
  }
  for (const MaskPosition& p : mlm_positions) result["mlm_positions"].push_back({p.sequence, p.position});
  std::ofstream(path + ".json") << result;
  // A version 1.0 header is padded with spaces to a multiple of 64 bytes and ends with a line feed.
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(numbers.size()) + ",), }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream file(path + ".npy", std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() & 255)).put(static_cast<char>(header.size() >> 8));
  file << header;
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace linformer_test
