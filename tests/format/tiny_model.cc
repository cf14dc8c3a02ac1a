#include "format/tiny_model.h"

#include <string_view>

#include "base/description.h"

namespace linformer_test {
namespace {

using namespace linformer;

constexpr uint32_t vocabulary = 64, d_model = 16, ffn = 24, max_tokens = 20, k = 6, heads = 2, layers = 2;
constexpr int32_t bos = 0, pad = 1, eos = 2, unk = 3, mask = vocabulary - 1;

// Random floats from xorshift32, scaled by powers of two, so that they are the same on every machine.
class Weights {
 public:
  std::vector<float> next(uint64_t count, float center, float spread) {
    std::vector<float> values(count);
    for (float& value : values) {
      state_ ^= state_ << 13;
      state_ ^= state_ >> 17;
      state_ ^= state_ << 5;
      const int32_t centered = static_cast<int32_t>(state_ >> 16) - (1 << 15);
      value = center + static_cast<float>(centered) * (spread * 0x1p-15f);
    }
    return values;
  }

 private:
  uint32_t state_ = 0x4c4e4652;
};

class Parts {
 public:
  explicit Parts(writer::ModelBuilder* builder) : builder_(*builder) {}

  Linear linear(const std::string& name, uint64_t out, uint64_t in) {
    Linear result;
    result.weight = builder_.add_linear(name + ".weight", out, in, weights_.next(out * in, 0, 0.5f));
    result.bias = builder_.add_floats(name + ".bias", {out}, weights_.next(out, 0, 0.25f));
    return result;
  }
  Norm norm(const std::string& name) {
    Norm result;
    result.scale = builder_.add_floats(name + ".weight", {d_model}, weights_.next(d_model, 1, 0.25f));
    result.bias = builder_.add_floats(name + ".bias", {d_model}, weights_.next(d_model, 0, 0.25f));
    return result;
  }
  TensorIndex table(const std::string& name, uint64_t rows) {
    return builder_.add_table(name, {rows, d_model}, weights_.next(rows * d_model, 0, 1));
  }
  Projection projection(const std::string& name) {
    Projection result;
    result.k = k;
    result.weight =
        builder_.add_projection(name, k, max_tokens, writer::copy_of(weights_.next(k * max_tokens, 0, 0.25f)));
    return result;
  }

 private:
  writer::ModelBuilder& builder_;
  Weights weights_;
};

EmbeddingDescription embedding(Parts& parts) {
  EmbeddingDescription result;
  result.tokens = parts.table("encoder.embed_tokens.weight", vocabulary);
  result.position_kind = PositionKind::learned;
  result.positions = parts.table("encoder.embed_positions.weight", max_tokens + 2);
  result.position_offset = 2;
  result.positions_count_non_pad = true;
  result.pad_position = 1;
  result.norm = parts.norm("encoder.layernorm_embedding");
  result.zero_pad_rows = true;
  return result;
}

// Makes a layer. Layer 0 has its own E and F; layer 1 uses layer 0's E for both keys and values.
LayerDescription layer(Parts& parts, uint32_t index, EncoderDescription* encoder) {
  const std::string name = "encoder.layers." + std::to_string(index);
  LayerDescription result;
  AttentionDescription& attention = result.attention;
  attention.heads = heads;
  attention.kv_heads = heads;
  attention.head_dim = d_model / heads;
  attention.scale = 0.353553391f;  // 8^-0.5
  attention.query = parts.linear(name + ".self_attn.q_proj", d_model, d_model);
  attention.key = parts.linear(name + ".self_attn.k_proj", d_model, d_model);
  attention.value = parts.linear(name + ".self_attn.v_proj", d_model, d_model);
  attention.output = parts.linear(name + ".self_attn.out_proj", d_model, d_model);
  if (index == 0) {
    encoder->projections.push_back(parts.projection(name + ".self_attn.compress_k.weight"));
    encoder->projections.push_back(parts.projection(name + ".self_attn.compress_v.weight"));
    attention.key_projections = {0};
    attention.value_projections = {1};
  } else {
    attention.key_projections = {0};
    attention.value_projections = {0};
  }
  result.attention_norm = parts.norm(name + ".self_attn_layer_norm");
  result.ffn_in = parts.linear(name + ".fc1", ffn, d_model);
  result.ffn_out = parts.linear(name + ".fc2", d_model, ffn);
  result.ffn_norm = parts.norm(name + ".final_layer_norm");
  return result;
}

}  // namespace

TinyModel::TinyModel(ElementType weights) : builder(weights) {
  Parts parts(&builder);
  ModelDescription& model = builder.description;
  model.producer = "linformer 0.1.0";
  model.dialect = "fairseq";
  model.encoder.d_model = d_model;
  model.encoder.max_tokens = max_tokens;
  model.encoder.vocab_size = vocabulary;
  model.encoder.pad_id = pad;
  model.encoder.embedding = embedding(parts);
  for (uint32_t i = 0; i < layers; ++i) model.encoder.layers.push_back(layer(parts, i, &model.encoder));

  model.mlm.dense = parts.linear("encoder.lm_head.dense", d_model, d_model);
  model.mlm.norm = parts.norm("encoder.lm_head.layer_norm");
  model.mlm.output.weight = model.encoder.embedding.tokens;
  model.mlm.output.bias =
      builder.add_floats("encoder.lm_head.bias", {vocabulary}, Weights().next(vocabulary, 0, 0.25f));

  ClassificationHead sentiment;
  sentiment.name = "sentiment";
  sentiment.dense = parts.linear("classification_heads.sentiment.dense", d_model, d_model);
  sentiment.output = parts.linear("classification_heads.sentiment.out_proj", 2, d_model);
  sentiment.labels = {"negative", "positive"};
  ClassificationHead topics;
  topics.name = "topics";
  topics.output = parts.linear("classification_heads.topics.out_proj", 3, d_model);
  topics.kind = HeadKind::multi_label;
  topics.labels = {"arts", "sports", "météo"};
  model.heads = {sentiment, topics};
  add_tokenizer();
}

// Adds a byte-level BPE tokenizer. Its tokens are all 256 bytes, as byte-level BPE needs them, and the results of the
// merges. Ids are given in this order, but bytes that are not in `known` have no id.
void TinyModel::add_tokenizer() {
  token_offsets_.push_back(0);
  const auto add_token = [&](std::string_view bytes, int32_t id) {
    token_bytes_.append(bytes);
    token_offsets_.push_back(static_cast<uint32_t>(token_bytes_.size()));
    token_ids_.push_back(id);
    return static_cast<uint32_t>(token_ids_.size() - 1);
  };
  int32_t next_id = unk + 1;
  constexpr std::string_view known = " abcdefghijklmnopqrstuvwxyz.,!?'-0123456789\n";
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    add_token({&character, 1}, known.find(character) == std::string_view::npos ? -1 : next_id++);
  }
  const auto merge = [&](std::string_view left, uint32_t left_token, std::string_view right, uint32_t right_token) {
    const uint32_t result = add_token(std::string(left) + std::string(right), next_id++);
    merges_.insert(merges_.end(), {left_token, right_token, result});
    return result;
  };
  const auto byte = [](char character) { return static_cast<uint32_t>(static_cast<unsigned char>(character)); };
  merge(" ", byte(' '), "t", byte('t'));
  const uint32_t he = merge("h", byte('h'), "e", byte('e'));
  merge(" t", 256, "he", he);
  merge("i", byte('i'), "n", byte('n'));
  merge("e", byte('e'), "r", byte('r'));
  merge("o", byte('o'), "o", byte('o'));

  TokenizerDescription& t = builder.description.tokenizer;
  t.kind = TokenizerKind::byte_bpe;
  t.token_bytes = token_bytes_;
  t.token_offsets = token_offsets_;
  t.token_ids = token_ids_;
  t.merges = merges_;
  t.unk = unk;
  t.bos = bos;
  t.eos = eos;
  t.pad = pad;
  t.mask = mask;
  for (const auto& [content, id] : {std::pair{"<s>", bos}, std::pair{"<pad>", pad}, std::pair{"</s>", eos},
                                    std::pair{"<unk>", unk}, std::pair{"<mask>", mask}}) {
    AddedToken token;
    token.content = content;
    token.id = id;
    token.special = true;
    token.strip_left = id == mask;
    t.added_tokens.push_back(token);
  }
  t.single_template = {bos, template_first, eos};
  t.pair_template = {bos, template_first, eos, eos, template_second, eos};
}

void TinyModel::set_every_field() {
  ModelDescription& model = builder.description;
  EncoderDescription& encoder = model.encoder;
  encoder.norm_placement = NormPlacement::pre;
  encoder.residual = ResidualKind::reversible;
  encoder.embedding.scale = 4;
  encoder.embedding.position_base = 500;
  encoder.embedding.transform_before_norm = true;
  encoder.embedding.token_types = encoder.embedding.positions;
  encoder.embedding.transform = encoder.layers[0].attention.query;
  encoder.embedding.factor = encoder.layers[0].attention.key;
  encoder.final_norm = encoder.layers[0].ffn_norm;
  encoder.final_norm.epsilon = 0.5f;
  LayerDescription& layer = encoder.layers[1];
  layer.activation = Activation::relu;
  layer.attention_resample = layer.attention.query;
  layer.ffn_resample = layer.attention.value;
  layer.attention.output_second = layer.attention.output;
  layer.attention.causal = true;
  layer.attention.row_mask = RowMask::zeroed;
  for (Projection& projection : encoder.projections) projection.order = ProjectionOrder::after_linear;
  layer.attention.output_activation = Activation::relu;
  layer.attention.key_source = KeySource::encoder_states_or_own;
  encoder.encoder_states_width = encoder.d_model;
  encoder.zero_masked_rows = true;
  encoder.output = layer.attention.query;
  encoder.embedding.prefix_token = 2;
  model.heads[1].norm = encoder.layers[0].ffn_norm;
  model.heads[0].norm = encoder.layers[0].attention_norm;
  model.heads[0].norm_after_dense = true;
  encoder.embedding.norm_before_factor = true;
  model.embedding = {true, Pooling::weighted_mean,          layer.attention.query, Activation::tanh,
                     true, encoder.layers[0].attention_norm};
  model.embedding.prompts = {{"query", "query: "}, {"document", ""}};
  model.embedding.default_prompt = 1;
  model.embedding.excludes_prompt = true;
  model.embedding.characters_per_token = 4;
  model.decoder = encoder;
  model.decoder.max_tokens = encoder.max_tokens;
  layer.attention.value_is_key = true;
  layer.attention.value = {};
  layer.attention.scale = 0.75f;
  layer.attention.key_projections = {0, 2};
  layer.attention.value_projections = {};
  Projection pool;
  pool.kind = ProjectionKind::mean_pool;
  pool.order = ProjectionOrder::after_linear;
  pool.k = 6;
  pool.kernel = 5;
  pool.stride = 3;
  encoder.projections.push_back(pool);
  Projection biased = encoder.projections[0];
  biased.bias = builder.add_floats("compress.bias", {6}, std::vector<float>(6, 0.5f));
  encoder.projections.push_back(biased);
  model.mlm.activation = Activation::gelu_tanh;
  model.heads[1].activation = Activation::sigmoid;
  TokenizerDescription& t = model.tokenizer;
  t.add_prefix_space = t.trim_offsets = t.lowercase = t.strip_accents = t.clean_text = t.split_cjk = true;
  t.continuing_prefix = "##";
  t.max_word_characters = 7;
  t.pair_types = {0, 0, 0, 1, 1, 1};
  t.added_tokens[0].single_word = t.added_tokens[0].strip_right = t.added_tokens[0].normalized = true;
  builder.origin.settings = "{\"encoder_attention_heads\":2}";
  builder.origin.tensors.push_back({"encoder.embed_tokens.weight", {64, 16}, {{0, 0, 64, 0, {16, 1}}}});
  LayerDescription& gated = model.encoder.layers[0];
  gated.gated = true;
  gated.ffn_in.weight = builder.add_linear("gated.weight", 48, 16, std::vector<float>(48 * 16, 0.25f));
  gated.ffn_in.bias = builder.add_floats("gated.bias", {48}, std::vector<float>(48, 0.5f));
  gated.attention.rotary_base = 500;
  gated.attention.rotary_scale = 0.75f;
  Projection full;
  full.kind = ProjectionKind::none;
  Projection scaled = model.decoder.projections[0];
  scaled.length_scale = LengthScale::restored_norm;
  model.decoder.projections.push_back(scaled);
  model.decoder.projections.push_back(full);
  AttentionDescription& attention = model.decoder.layers[0].attention;
  attention.key_projections = {static_cast<uint32_t>(model.decoder.projections.size() - 1)};
  attention.value_projections = attention.key_projections;
  attention.window = 3;
  attention.position_bias = builder.add_floats("position_bias", {2, 39}, std::vector<float>(2 * 39, 0.75f));
  ClassificationHead relevance;
  relevance.name = "relevance";
  relevance.kind = HeadKind::score;
  relevance.score_activation = Activation::sigmoid;
  relevance.output.weight = builder.add_linear("relevance.weight", 1, 16, std::vector<float>(16, 0.125f));
  relevance.output.bias = builder.add_floats("relevance.bias", {1}, std::vector<float>{0.5f});
  ClassificationHead mood = model.heads[0];
  mood.name = "mood";
  mood.kind = HeadKind::regression;
  mood.labels = {"valence", "excitability"};
  model.heads.push_back(relevance);
  model.heads.push_back(mood);
}

std::string golden_model_path(ElementType type) {
  return std::string(LINFORMER_GOLDEN_MODELS) + "/" + name_of(type) + ".lnfr";
}

}  // namespace linformer_test
