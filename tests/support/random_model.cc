#include "support/random_model.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "base/description.h"

namespace linformer_test {
namespace {

using namespace linformer;

// Random numbers from a generator whose numbers the C++ standard fixes.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : generator_(seed) {}
  std::vector<float> uniform(uint64_t count, double bound, double centre = 0) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(centre + bound * (static_cast<double>(generator_() >> 11) * 0x1p-52 - 1));
    }
    return values;
  }

 private:
  std::mt19937_64 generator_;
};

// Returns an unusual name, which is printable UTF-8.
std::string odd_name(size_t index) {
  static const std::string names[] = {"a,b",      "\"quoted\"", " ",    "e\u0301 \u4e2d \U0001f600",
                                      "LABEL_1",  "0",          "-",    "=1+1",
                                      "<b>&amp;", "{\"a\": 1}", "100%", std::string(1024, 'x')};
  const size_t count = std::size(names);
  return index < count ? names[index] : names[index % (count - 1)] + std::to_string(index);
}

bool is_windowed(ProjectionKind kind) {
  return kind == ProjectionKind::convolution || kind == ProjectionKind::mean_pool || kind == ProjectionKind::max_pool;
}

class Maker {
 public:
  Maker(const RandomModel& shape, writer::ModelBuilder* builder)
      : shape_(shape), builder_(*builder), numbers_(shape.seed) {}

  // Adds the parts of an encoder or decoder. The names of its tensors begin with `prefix`.
  void encoder(EncoderDescription* e, const std::string& prefix, const std::vector<KeySource>& key_sources,
               uint32_t encoder_states_width) {
    prefix_ = prefix;
    e->d_model = shape_.d_model;
    e->max_tokens = shape_.n;
    e->vocab_size = shape_.vector_width == 0 ? shape_.vocabulary : 0;
    e->pad_id = shape_.pad && shape_.vector_width == 0 ? 1 : -1;
    e->norm_placement = shape_.pre_norm ? NormPlacement::pre : NormPlacement::post;
    e->residual = shape_.residual;
    e->zero_masked_rows = shape_.zero_masked_rows;
    for (uint32_t i = 0; i < shape_.layers; ++i) {
      if (key_sources[i % key_sources.size()] == KeySource::own) continue;
      e->encoder_states_width = encoder_states_width == 0 ? shape_.d_model : encoder_states_width;
    }
    embedding(e);
    uint32_t width = shape_.d_model;
    for (uint32_t i = 0; i < shape_.unused_projections; ++i) {
      projection(e, "unused." + std::to_string(i), shape_.layers + i, 0, 0);
    }
    for (uint32_t i = 0; i < shape_.layers; ++i) width = layer(e, i, width, key_sources[i % key_sources.size()]);
    if (shape_.pre_norm && shape_.norms) e->final_norm = norm("layer_norm", width);
    if (shape_.output_width != 0) e->output = linear("project_out", shape_.output_width, width);
  }

  void heads() {
    ModelDescription& description = builder_.description;
    const uint32_t d = shape_.output_width != 0 ? shape_.output_width : shape_.d_model;
    for (size_t i = 0; i < shape_.head_classes.size(); ++i) {
      const RandomHead& kind = shape_.head_kinds[i % shape_.head_kinds.size()];
      ClassificationHead head;
      head.name = head_name(i);
      head.pooling = kind.pooling;
      head.pairing = kind.pairing;
      head.kind = kind.kind;
      head.score_activation = kind.score_activation;
      const uint32_t width = kind.pairing == Pairing::none ? d : 4 * d;
      head.norm_after_dense = kind.norm_after_dense;
      if (kind.norm) head.norm = norm(head.name + ".norm", kind.norm_after_dense ? d : width);
      if (kind.dense) head.dense = linear(head.name + ".dense", d, width);
      head.output = linear(head.name + ".out_proj", shape_.head_classes[i], kind.dense ? d : width);
      for (uint32_t c = 0; shape_.names != RandomNames::none && c < shape_.head_classes[i]; ++c) {
        head.labels.push_back(shape_.names == RandomNames::odd ? odd_name(c) : "class" + std::to_string(c));
      }
      description.heads.push_back(head);
    }
    if (shape_.masked_lm && shape_.vector_width == 0) masked_lm(d);
    if (!shape_.sentence_embedding) return;
    SentenceEmbedding& embedding = description.embedding;
    embedding.present = true;
    embedding.pooling = shape_.embedding_pooling;
    embedding.normalize = shape_.embedding_normalize;
    if (shape_.sentence_norm) {
      embedding.norm = norm("sentence.norm", shape_.embedding_dense == 0 ? d : shape_.embedding_dense);
    }
    if (shape_.embedding_dense == 0) return;
    embedding.dense = linear("sentence.dense", shape_.embedding_dense, d);
    embedding.activation = Activation::tanh;
  }

 private:
  std::string head_name(size_t index) const {
    return shape_.names == RandomNames::odd ? odd_name(index) : "head" + std::to_string(index);
  }

  Linear linear(const std::string& name, uint32_t out, uint32_t in, bool bias = true) {
    Linear l;
    l.weight = builder_.add_linear(prefix_ + name + ".weight", out, in,
                                   numbers_.uniform(uint64_t{out} * in, 1.7 / std::sqrt(in)));
    if (bias) l.bias = builder_.add_floats(prefix_ + name + ".bias", {out}, numbers_.uniform(out, 0.3));
    return l;
  }

  Norm norm(const std::string& name, uint32_t width) {
    Norm n;
    n.kind = shape_.norm_kind;
    n.scale = builder_.add_floats(prefix_ + name + ".weight", {width}, numbers_.uniform(width, 0.5, 1));
    if (shape_.norm_bias) n.bias = builder_.add_floats(prefix_ + name + ".bias", {width}, numbers_.uniform(width, 0.3));
    return n;
  }

  TensorIndex table(const std::string& name, uint32_t rows, uint32_t width) {
    return builder_.add_table(prefix_ + name, {rows, width}, numbers_.uniform(uint64_t{rows} * width, 1));
  }

  void embedding(EncoderDescription* e) {
    EmbeddingDescription& embedding = e->embedding;
    const uint32_t d = shape_.d_model;
    uint32_t width = shape_.embedding_width != 0 ? shape_.embedding_width : d;
    if (shape_.vector_width == 0) {
      embedding.tokens = table("embed_tokens.weight", shape_.vocabulary, width);
      embedding.scale = shape_.embedding_scale;
      if (shape_.prefix_token) embedding.prefix_token = 2;
    } else {
      width = vectors(&embedding.vectors, width);
      if (shape_.prefix)
        embedding.prefix = builder_.add_floats(prefix_ + "prefix", {1, width}, numbers_.uniform(width, 1));
    }
    const bool fairseq = shape_.fairseq_positions && e->pad_id >= 0;
    embedding.position_kind = shape_.position_kind;
    if (shape_.position_kind == PositionKind::learned) {
      embedding.positions = table("embed_positions.weight", shape_.n + (fairseq ? 2 : 0), width);
    } else if (shape_.position_kind != PositionKind::none && shape_.given_frequencies) {
      embedding.positions =
          builder_.add_floats(prefix_ + "frequencies", {width / 2}, numbers_.uniform(width / 2, 0.5, 0.5));
    }
    if (fairseq) {
      embedding.position_offset = 2;
      embedding.positions_count_non_pad = true;
      embedding.pad_position = 1;
      embedding.zero_pad_rows = true;
    }
    if (shape_.token_types != 0 && shape_.vector_width == 0) {
      embedding.token_types = table("token_types.weight", shape_.token_types, width);
    }
    if (width != d || shape_.embedding_width != 0) embedding.factor = linear("project_in", d, width);
    embedding.norm_before_factor = shape_.norm_before_factor && embedding.factor.present();
    if (shape_.embedding_norm) embedding.norm = norm("layernorm_embedding", embedding.norm_before_factor ? width : d);
    if (shape_.transform) embedding.transform = linear("quant_noise", d, d, false);
    embedding.transform_before_norm = shape_.transform_before_norm;
  }

  // Adds the input of vectors. Returns the width of the rows that positions are added to.
  uint32_t vectors(VectorInput* input, uint32_t width) {
    input->width = shape_.vector_width;
    if (shape_.vector_norms) input->norm_in = norm("patch_norm_in", shape_.vector_width);
    if (!shape_.vector_linear) return shape_.vector_width;
    input->linear = linear("patches", width, shape_.vector_width);
    if (shape_.vector_norms) input->norm_out = norm("patch_norm_out", width);
    return width;
  }

  // Adds a layer. Returns the width of its output.
  uint32_t layer(EncoderDescription* e, uint32_t index, uint32_t width, KeySource source) {
    if (index > 0 && shape_.shared_weights) {
      e->layers.push_back(e->layers[0]);
      return width;
    }
    const std::string name = "layers." + std::to_string(index);
    const bool odd = index % 2 == 1;
    const bool norms = shape_.norms && !(odd && shape_.mixed_norms);
    const uint32_t ffn = odd && shape_.mixed_ffn ? 0 : shape_.ffn;
    LayerDescription layer = shape_.layer;
    layer.gated = layer.gated && ffn != 0 && !(odd && shape_.mixed_gates);
    const bool narrows = shape_.attention_between != 0 && odd;
    const bool last = index + 1 == shape_.layers;
    uint32_t between = narrows ? shape_.attention_between : width;
    if (ffn == 0 && last) between = shape_.d_model;
    attention(e, &layer.attention, index, width, between, source);
    if (norms) layer.attention_norm = norm(name + ".self_attn_layer_norm", shape_.pre_norm ? width : between);
    if (between != width) layer.attention_resample = linear(name + ".attention_resample", between, width);
    const bool keeps_width = between == width && shape_.output_projection && shape_.second_output == 0;
    if (shape_.outer_norm && keeps_width && !shape_.pre_norm && shape_.residual == ResidualKind::standard) {
      layer.outer_norm = norm(name + ".outer_norm", width);
    }
    width = between;
    if (ffn != 0) {
      const uint32_t out = last || shape_.between == 0 ? shape_.d_model : shape_.between;
      layer.ffn_in = linear(name + ".fc1", layer.gated ? 2 * ffn : ffn, width);
      layer.ffn_out = linear(name + ".fc2", out, ffn);
      if (norms) layer.ffn_norm = norm(name + ".final_layer_norm", shape_.pre_norm ? width : out);
      if (out != width) layer.ffn_resample = linear(name + ".ffn_resample", out, width);
      width = out;
    }
    layer.activation = shape_.activation;
    e->layers.push_back(layer);
    return width;
  }

  void attention(EncoderDescription* e, AttentionDescription* attention, uint32_t index, uint32_t in, uint32_t out,
                 KeySource source) {
    const std::string name = "layers." + std::to_string(index);
    const uint32_t head_dim = shape_.head_dim != 0 ? shape_.head_dim : shape_.d_model / shape_.heads;
    const bool one_kv_head = shape_.one_kv_head || (shape_.mixed_kv_heads && index % 2 == 1);
    const uint32_t kv_heads = shape_.kv_heads != 0 ? shape_.kv_heads : one_kv_head ? 1 : shape_.heads;
    const uint32_t width = shape_.heads * head_dim, key_width = kv_heads * head_dim;
    const uint32_t key_in = source == KeySource::own ? in : e->encoder_states_width;
    attention->heads = shape_.heads;
    attention->kv_heads = kv_heads;
    attention->head_dim = head_dim;
    attention->scale = static_cast<float>(1 / std::sqrt(head_dim));
    attention->causal = shape_.causal;
    attention->row_mask = shape_.row_mask;
    attention->key_source = source;
    attention->value_is_key = shape_.value_is_key;
    attention->query = linear(name + ".q_proj", width, in, shape_.linear_bias);
    attention->key = linear(name + ".k_proj", key_width, key_in, shape_.linear_bias);
    if (!shape_.value_is_key) attention->value = linear(name + ".v_proj", key_width, key_in, shape_.linear_bias);
    if (shape_.output_projection) {
      const uint32_t inner = shape_.second_output != 0 ? shape_.second_output : out;
      attention->output = linear(name + ".out_proj", inner, width);
      if (shape_.second_output != 0) attention->output_second = linear(name + ".out_proj2", out, inner);
    }
    attention->output_activation = shape_.output_activation;
    if (shape_.head_norms != HeadNorms::none) {
      const bool each = shape_.head_norms == HeadNorms::each;
      attention->query_norm = norm(name + ".q_norm", each ? head_dim : width);
      attention->key_norm = norm(name + ".k_norm", each ? head_dim : key_width);
    }
    if (shape_.position_bias) {
      attention->position_bias =
          builder_.add_floats(prefix_ + name + ".position_bias", {shape_.heads, 2 * shape_.n - 1},
                              numbers_.uniform(uint64_t{shape_.heads} * (2 * shape_.n - 1), 1));
    }
    if (index != 0 && shape_.shared_layers) {
      attention->key_projections = e->layers[0].attention.key_projections;
      attention->value_projections = e->layers[0].attention.value_projections;
      return;
    }
    const bool values_by_head = shape_.each_head != shape_.one_side_by_head;
    for (uint32_t head = 0; head < shape_.heads; ++head) {
      const auto suffix = [&](bool by_head) { return by_head ? std::string(".").append(std::to_string(head)) : ""; };
      if (head == 0 || shape_.each_head) {
        attention->key_projections.push_back(
            projection(e, name + ".compress_k" + suffix(shape_.each_head), index, head, 0));
      }
      if (shape_.value_is_key || (head > 0 && !values_by_head)) continue;
      attention->value_projections.push_back(
          shape_.shared_key_value ? attention->key_projections.back()
                                  : projection(e, name + ".compress_v" + suffix(values_by_head), index, head, 1));
    }
    if (shape_.list_values_of_keys) attention->value_projections = attention->key_projections;
  }

  uint32_t projection(EncoderDescription* e, const std::string& name, uint32_t layer, uint32_t head, uint32_t side) {
    const uint32_t head_dim = shape_.head_dim != 0 ? shape_.head_dim : shape_.d_model / shape_.heads;
    Projection p;
    p.kind = shape_.kinds[(shape_.mixed_kinds ? layer + head : layer) % shape_.kinds.size()];
    if (shape_.mixed_windows && is_windowed(p.kind)) {
      constexpr ProjectionKind turns[] = {ProjectionKind::convolution, ProjectionKind::mean_pool,
                                          ProjectionKind::max_pool};
      p.kind = turns[(static_cast<uint32_t>(p.kind) + layer + head + side) % 3];
    }
    p.order = p.kind == ProjectionKind::linear ? shape_.order : ProjectionOrder::after_linear;
    if (p.kind == ProjectionKind::linear && shape_.mixed_orders && side == 1) {
      p.order = shape_.order == ProjectionOrder::after_linear ? ProjectionOrder::before_linear
                                                              : ProjectionOrder::after_linear;
    }
    if (p.kind == ProjectionKind::linear) {
      p.k = std::max(1u, shape_.k - std::min(shape_.k, (layer + head) * shape_.k_step));
      const std::vector<float> weights = numbers_.uniform(uint64_t{p.k} * shape_.n, 1.7 / std::sqrt(shape_.n));
      p.span = std::min(shape_.span, shape_.n);
      if (shape_.exact_tokens.size() <= p.k) p.exact_tokens = shape_.exact_tokens;
      p.weight = builder_.add_projection(prefix_ + name + ".weight", p.k, shape_.n, writer::copy_of(weights));
      if (p.order == ProjectionOrder::after_linear) p.length_scale = shape_.length_scale;
      if (shape_.projection_bias && p.length_scale == LengthScale::none) {
        p.bias = builder_.add_floats(prefix_ + name + ".bias", {p.k}, numbers_.uniform(p.k, 0.3));
      }
    } else if (is_windowed(p.kind)) {
      p.kernel = std::min(shape_.kernel, shape_.n);
      p.stride = shape_.stride;
      p.k = (shape_.n - p.kernel) / p.stride + 1;
      if (p.kind == ProjectionKind::convolution) {
        p.weight = builder_.add_floats(prefix_ + name + ".weight", {p.kernel, head_dim, head_dim},
                                       numbers_.uniform(uint64_t{p.kernel} * head_dim * head_dim,
                                                        1.7 / std::sqrt(static_cast<double>(p.kernel) * head_dim)));
        if (shape_.projection_bias) {
          p.bias = builder_.add_floats(prefix_ + name + ".bias", {head_dim}, numbers_.uniform(head_dim, 0.3));
        }
      }
    }
    e->projections.push_back(p);
    return static_cast<uint32_t>(e->projections.size() - 1);
  }

  void masked_lm(uint32_t width) {
    ModelDescription& description = builder_.description;
    MaskedLmHead& mlm = description.mlm;
    const EncoderDescription& e = description.has_decoder() ? description.decoder : description.encoder;
    const uint32_t embedding = shape_.embedding_width != 0 ? shape_.embedding_width : shape_.d_model;
    if (shape_.masked_lm_dense) {
      mlm.dense = linear("lm_head.dense", embedding, width);
      mlm.norm = norm("lm_head.layer_norm", embedding);
    }
    if (shape_.tied_output) {
      mlm.output.weight = e.embedding.tokens;
      mlm.output.bias =
          builder_.add_floats(prefix_ + "lm_head.bias", {shape_.vocabulary}, numbers_.uniform(shape_.vocabulary, 0.3));
    } else {
      mlm.output = linear("lm_head", shape_.vocabulary, shape_.masked_lm_dense ? embedding : width);
    }
  }

  const RandomModel& shape_;
  writer::ModelBuilder& builder_;
  Numbers numbers_;
  std::string prefix_;
};

}  // namespace

writer::ModelBuilder random_builder(const RandomModel& shape) {
  writer::ModelBuilder builder(shape.type);
  const bool odd = shape.names == RandomNames::odd;
  builder.description.producer = odd ? std::string(1024, 'p') : "linformer tests";
  builder.description.dialect = odd ? "of no \"family\", <b>\u4e2d</b>" : "random";
  Maker maker(shape, &builder);
  const std::vector<KeySource> own = {KeySource::own};
  maker.encoder(&builder.description.encoder, "", shape.decoder ? own : shape.key_sources, shape.encoder_states_width);
  if (shape.decoder) {
    const uint32_t encoder_states_width = shape.output_width != 0 ? shape.output_width : shape.d_model;
    maker.encoder(&builder.description.decoder, "decoder.", shape.key_sources, encoder_states_width);
  }
  maker.heads();
  return builder;
}

std::shared_ptr<const Model> random_model(const RandomModel& shape) {
  struct Holder {
    writer::AlignedBytes bytes;
    std::shared_ptr<const Model> model;
  };
  auto holder = std::make_shared<Holder>();
  holder->bytes = random_builder(shape).serialize();
  Result<std::shared_ptr<const Model>> model = Model::load(holder->bytes);
  if (!model.ok()) throw std::runtime_error(model.status().message());
  holder->model = model.value();
  return {holder, holder->model.get()};
}

std::vector<int32_t> random_ids(uint64_t seed, int64_t count, uint32_t vocabulary) {
  std::mt19937_64 generator(seed);
  std::vector<int32_t> ids(static_cast<size_t>(count));
  const uint32_t first = vocabulary > 4 ? 4 : 0;
  for (int32_t& id : ids) id = static_cast<int32_t>(first + generator() % (vocabulary - first));
  return ids;
}

Input RandomInput::view() const {
  Input input;
  input.tokens = tokens;
  input.vectors = vectors;
  input.types = types;
  input.mask = mask;
  input.query_mask = query_mask;
  input.encoder_states = encoder_states;
  input.encoder_states_mask = encoder_states_mask;
  return input;
}

RandomInput random_input(uint64_t seed, const EncoderDescription& encoder, int64_t rows, int64_t state_rows,
                         bool masks) {
  RandomInput input;
  Numbers numbers(seed);
  if (encoder.embedding.tokens != absent) {
    input.tokens = random_ids(seed, rows, encoder.vocab_size);
  } else {
    input.vectors = numbers.uniform(static_cast<uint64_t>(rows) * encoder.embedding.vectors.width, 1);
  }
  if (encoder.encoder_states_width != 0) {
    input.encoder_states = numbers.uniform(static_cast<uint64_t>(state_rows) * encoder.encoder_states_width, 1);
  }
  if (!masks) return input;
  const auto mask = [](int64_t count, int64_t step) {
    std::vector<uint8_t> values(static_cast<size_t>(count), 1);
    for (size_t i = 1; i < values.size(); ++i) values[i] = i % static_cast<size_t>(step) != 0;
    return values;
  };
  input.mask = mask(rows, 7);
  input.query_mask = mask(rows, 5);
  if (encoder.encoder_states_width != 0) input.encoder_states_mask = mask(state_rows, 3);
  for (size_t i = 3; encoder.pad_id >= 0 && i < input.tokens.size(); i += 14) input.tokens[i] = encoder.pad_id;
  return input;
}

}  // namespace linformer_test
