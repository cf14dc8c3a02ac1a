#include "support/random_model.h"

#include <cmath>
#include <random>
#include <stdexcept>

namespace linformer_test {
namespace {

using namespace linformer;

// Uniform in [-bound, bound] from a generator whose numbers the C++ standard fixes.
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

class Maker {
 public:
  Maker(const RandomModel& shape, writer::ModelBuilder* builder)
      : shape_(shape), builder_(*builder), numbers_(shape.seed) {}

  Linear linear(const std::string& name, uint32_t out, uint32_t in, bool bias = true) {
    Linear l;
    l.weight =
        builder_.add_linear(name + ".weight", out, in, numbers_.uniform(uint64_t{out} * in, 1.7 / std::sqrt(in)));
    if (bias) l.bias = builder_.add_floats(name + ".bias", {out}, numbers_.uniform(out, 0.3));
    return l;
  }

  Norm norm(const std::string& name) {
    Norm n;
    n.scale = builder_.add_floats(name + ".weight", {shape_.d_model}, numbers_.uniform(shape_.d_model, 0.5, 1));
    n.bias = builder_.add_floats(name + ".bias", {shape_.d_model}, numbers_.uniform(shape_.d_model, 0.3));
    return n;
  }

  uint32_t projection(const std::string& name) {
    Projection p;
    p.k = shape_.k;
    p.order = shape_.order;
    p.weight = builder_.add_floats(name + ".weight", {shape_.k, shape_.n},
                                   numbers_.uniform(uint64_t{shape_.k} * shape_.n, 1.7 / std::sqrt(shape_.n)));
    if (shape_.projection_bias) {
      p.bias = builder_.add_floats(name + ".bias", {shape_.k}, numbers_.uniform(shape_.k, 0.3));
      p.bias_per_row = true;
    }
    auto& projections = builder_.description.encoder.projections;
    projections.push_back(p);
    return static_cast<uint32_t>(projections.size() - 1);
  }

  void embedding() {
    EncoderDescription& e = builder_.description.encoder;
    EmbeddingDescription& embedding = e.embedding;
    const uint32_t d = shape_.d_model, rows = shape_.n + 2;
    embedding.tokens = builder_.add_table("embed_tokens.weight", {shape_.vocabulary, d},
                                          numbers_.uniform(uint64_t{shape_.vocabulary} * d, 1));
    embedding.position_kind = PositionKind::learned;
    embedding.positions =
        builder_.add_table("embed_positions.weight", {rows, d}, numbers_.uniform(uint64_t{rows} * d, 1));
    embedding.position_offset = 2;
    embedding.positions_count_non_pad = true;
    embedding.pad_position = 1;
    embedding.norm = norm("layernorm_embedding");
    if (shape_.transform) embedding.transform = linear("quant_noise", d, d, false);
    embedding.transform_before_norm = shape_.transform_before_norm;
    embedding.zero_pad_rows = true;
  }

  void layer(uint32_t index) {
    EncoderDescription& e = builder_.description.encoder;
    const std::string name = "layers." + std::to_string(index);
    const uint32_t d = shape_.d_model, head_dim = shape_.head_dim != 0 ? shape_.head_dim : d / shape_.heads;
    const uint32_t width = shape_.heads * head_dim;
    LayerDescription layer;
    AttentionDescription& attention = layer.attention;
    attention.heads = attention.kv_heads = shape_.heads;
    attention.head_dim = head_dim;
    attention.scale = static_cast<float>(1 / std::sqrt(head_dim));
    attention.query = linear(name + ".q_proj", width, d, shape_.linear_bias);
    attention.key = linear(name + ".k_proj", width, d, shape_.linear_bias);
    attention.value = linear(name + ".v_proj", width, d, shape_.linear_bias);
    attention.output = linear(name + ".out_proj", d, width);
    if (index == 0 || !shape_.shared_layers) {
      attention.key_projections = {projection(name + ".compress_k")};
      attention.value_projections =
          shape_.shared_key_value ? attention.key_projections : std::vector<uint32_t>{projection(name + ".compress_v")};
    } else {
      attention.key_projections = e.layers[0].attention.key_projections;
      attention.value_projections = e.layers[0].attention.value_projections;
    }
    layer.attention_norm = norm(name + ".self_attn_layer_norm");
    layer.ffn_in = linear(name + ".fc1", shape_.ffn, d);
    layer.ffn_out = linear(name + ".fc2", d, shape_.ffn);
    layer.ffn_norm = norm(name + ".final_layer_norm");
    layer.activation = shape_.activation;
    e.layers.push_back(layer);
  }

  void heads() {
    ModelDescription& description = builder_.description;
    const uint32_t d = shape_.d_model;
    for (size_t i = 0; i < shape_.head_classes.size(); ++i) {
      ClassificationHead head;
      head.name = "head" + std::to_string(i);
      head.dense = linear(head.name + ".dense", d, d);
      head.output = linear(head.name + ".out_proj", shape_.head_classes[i], d);
      for (uint32_t c = 0; c < shape_.head_classes[i]; ++c) head.labels.push_back("class" + std::to_string(c));
      description.heads.push_back(head);
    }
    if (!shape_.masked_lm) return;
    MaskedLmHead& mlm = description.mlm;
    mlm.dense = linear("lm_head.dense", d, d);
    mlm.norm = norm("lm_head.layer_norm");
    if (shape_.tied_output) {
      mlm.output.weight = description.encoder.embedding.tokens;
      mlm.output.bias =
          builder_.add_floats("lm_head.bias", {shape_.vocabulary}, numbers_.uniform(shape_.vocabulary, 0.3));
    } else {
      mlm.output = linear("lm_head", shape_.vocabulary, d);
    }
  }

 private:
  const RandomModel& shape_;
  writer::ModelBuilder& builder_;
  Numbers numbers_;
};

}  // namespace

writer::ModelBuilder random_builder(const RandomModel& shape) {
  writer::ModelBuilder builder(shape.type);
  builder.description.producer = "linformer tests";
  builder.description.dialect = "random";
  EncoderDescription& e = builder.description.encoder;
  e.d_model = shape.d_model;
  e.max_tokens = shape.n;
  e.vocab_size = shape.vocabulary;
  e.pad_id = 1;
  e.norm_placement = shape.pre_norm ? NormPlacement::pre : NormPlacement::post;
  Maker maker(shape, &builder);
  maker.embedding();
  for (uint32_t i = 0; i < shape.layers; ++i) maker.layer(i);
  if (shape.pre_norm) e.final_norm = maker.norm("layer_norm");
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
  for (int32_t& id : ids) id = static_cast<int32_t>(4 + generator() % (vocabulary - 4));
  return ids;
}

}  // namespace linformer_test
