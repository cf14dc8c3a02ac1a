#include "fuzz/hostile_models.h"

#include <algorithm>

#include "base/description.h"

namespace linformer_fuzz {

using namespace linformer;
using namespace linformer::writer;

namespace {

constexpr uint32_t longest = 1u << 24;  // The largest max_tokens that a model file may have.
constexpr size_t collisions = 200;

FloatSource constant(float value) {
  return [value](uint64_t, std::span<float> out) { std::fill(out.begin(), out.end(), value); };
}

}  // namespace

const char* name_of(HostileModel kind) {
  static constexpr const char* names[] = {"table", "overflow", "overflow_full", "masks", "prefix", "added", "flood"};
  return names[static_cast<size_t>(kind)];
}

HostileModelFile::HostileModelFile(HostileModel kind) : builder(ElementType::f16) {
  builder.description.producer = "tests/fuzz";
  builder.description.dialect = "made up";
  add_encoder(kind);
  add_tokenizer(kind);
}

void HostileModelFile::add_encoder(HostileModel kind) {
  EncoderDescription& encoder = builder.description.encoder;
  const bool overflow = kind == HostileModel::overflow || kind == HostileModel::overflow_full;
  const uint32_t d = overflow ? 1 : 16, width = overflow ? 256 : 16;
  encoder.d_model = d;
  encoder.max_tokens = overflow ? longest : kind == HostileModel::masks ? 4096 : 32;
  encoder.vocab_size = 64;
  encoder.pad_id = -1;
  encoder.embedding.tokens = builder.add_table("tokens", {encoder.vocab_size, d}, constant(0.01f));
  encoder.embedding.position_kind = PositionKind::none;
  if (kind == HostileModel::table) {
    encoder.embedding.position_kind = PositionKind::sinusoidal_halves;
    encoder.embedding.position_base = 10000;
    encoder.embedding.pad_position = longest - 1;
  }
  if (kind == HostileModel::prefix) encoder.embedding.prefix_token = 2;

  Projection projection;
  projection.order = ProjectionOrder::after_linear;
  projection.kind = kind == HostileModel::overflow_full ? ProjectionKind::none : ProjectionKind::mean_pool;
  if (kind == HostileModel::overflow) {
    projection.kernel = projection.stride = 1;
    projection.k = encoder.max_tokens;
  } else if (kind != HostileModel::overflow_full) {
    projection.kernel = encoder.max_tokens;
    projection.stride = projection.k = 1;
  }
  encoder.projections = {projection};

  LayerDescription layer;
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.kv_heads = 1;
  attention.head_dim = width;
  attention.scale = 1;
  attention.value_is_key = true;
  attention.query.weight = attention.key.weight = builder.add_linear("query", width, d, constant(0.01f));
  attention.output.weight = builder.add_linear("output", d, width, constant(0.02f));
  attention.key_projections = {0};
  attention.value_projections = {0};
  encoder.layers = {layer};
  ClassificationHead head;
  head.name = "head";
  head.pooling = Pooling::mean;
  head.output.weight = builder.add_linear("classes", 2, d, constant(0.5f));
  builder.description.heads = {head};
  if (kind == HostileModel::masks) builder.description.mlm.output.weight = encoder.embedding.tokens;
}

void HostileModelFile::add_tokenizer(HostileModel kind) {
  TokenizerDescription& tokenizer = builder.description.tokenizer;
  tokenizer.kind = TokenizerKind::byte_bpe;
  tokenizer.max_word_characters = 100;
  tokenizer.unk = 3;
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    add_token({&character, 1}, byte % 60);
  }
  AddedToken token;
  if (kind == HostileModel::added) {
    token.content = std::string(1023, 'a') + "b";
    token.id = 5;
    token.normalized = true;
    tokenizer.added_tokens = {token};
  }
  if (kind == HostileModel::masks) {
    tokenizer.mask = 63;
    token.content = "<extra_id_0>";
    token.id = 63;
    token.special = true;
    tokenizer.added_tokens = {token};
  }
  if (kind == HostileModel::flood) add_colliding_merges();
  tokenizer.token_bytes = {bytes_.data(), bytes_.size()};
  tokenizer.token_offsets = offsets_;
  tokenizer.token_ids = ids_;
  tokenizer.merges = merges_;
}

uint32_t HostileModelFile::add_token(std::string_view bytes, int32_t id) {
  bytes_ += bytes;
  offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  ids_.push_back(id);
  return static_cast<uint32_t>(ids_.size()) - 1;
}

// Adds merges that collide in a hash without a seed: product ^ product >> 32 has only zeros in its low bits, where
// product is the pair, left << 32 | right, times the bits of the golden ratio. Bpe::hash_slot() mixes in random
// numbers, so there they must collide only by chance. All left and right tokens have the bytes "a", because the format
// permits any number of tokens with equal bytes.
void HostileModelFile::add_colliding_merges() {
  uint32_t capacity = 16;
  while (capacity < 2 * collisions + 2) capacity *= 2;
  const uint32_t base = static_cast<uint32_t>(ids_.size()), mask = capacity - 1;
  for (uint32_t i = 0; i < capacity; ++i) add_token("a", -1);
  const uint32_t result = add_token("aa", 61);
  constexpr uint64_t ratio = 0x9E3779B97F4A7C15u;
  constexpr uint32_t low = static_cast<uint32_t>(ratio);
  uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - low * inverse;
  size_t made = 0;
  for (uint32_t right = base; made < collisions && right < result; ++right) {
    const uint64_t product = right * ratio;
    const uint32_t difference = static_cast<uint32_t>(product) - static_cast<uint32_t>(product >> 32);
    uint32_t left = (difference * inverse) & mask;
    while (left < base) left += capacity;
    if (left >= result) continue;
    merges_.insert(merges_.end(), {left, right, result});
    ++made;
  }
}

}  // namespace linformer_fuzz
