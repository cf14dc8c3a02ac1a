#include "bench/random_model.h"

#include <cmath>
#include <map>
#include <stdexcept>

#include "base/description.h"
#include "command_line/split_mix.h"

#ifdef LINFORMER_WITH_WRITER
#include "converter/writer/model_builder.h"
#endif

namespace linformer::bench {
namespace {

const std::map<std::string, ModelShape>& shapes() {
  static const std::map<std::string, ModelShape> all = {{"tiny", {2, 128, 4, 512, 1000}},
                                                        {"small", {6, 384, 12, 1536, 30522}},
                                                        {"base", {12, 768, 12, 3072, 50265}},
                                                        {"large", {24, 1024, 16, 4096, 50265}}};
  return all;
}

#ifdef LINFORMER_WITH_WRITER
class Maker {
 public:
  Maker(const ModelShape& shape, writer::ModelBuilder* builder) : shape_(shape), builder_(*builder) {}

  void make() {
    ModelDescription& description = builder_.description;
    description.producer = "linformer bench";
    description.dialect = "random";
    EncoderDescription& encoder = description.encoder;
    encoder.d_model = shape_.d_model;
    encoder.max_tokens = shape_.n;
    encoder.vocab_size = shape_.vocabulary;
    encoder.embedding.tokens = table("embed_tokens.weight", shape_.vocabulary, shape_.d_model);
    encoder.embedding.position_kind = PositionKind::learned;
    encoder.embedding.positions = table("embed_positions.weight", shape_.n, shape_.d_model);
    encoder.embedding.norm = norm("layernorm_embedding");
    encoder.projections.push_back(projection());
    for (uint32_t i = 0; i < shape_.layers; ++i) encoder.layers.push_back(layer("layers." + std::to_string(i)));
    description.embedding.present = true;
    description.embedding.pooling = Pooling::mean;
    description.embedding.normalize = true;
  }

 private:
  // Returns a source of uniform random numbers in [centre - bound, centre + bound]. Each is a hash (SplitMix64) of the
  // number of the tensor and of the element, so the source needs no memory.
  writer::FloatSource values(double bound, double centre = 0) {
    const uint64_t seed = ++tensors_ << 40;
    return [=](uint64_t first, std::span<float> out) {
      for (size_t i = 0; i < out.size(); ++i) {
        const uint64_t x = cli::mix((seed + first + i) * 0x9E3779B97F4A7C15u);
        out[i] = static_cast<float>(centre + bound * (static_cast<double>(x >> 11) * 0x1p-52 - 1));
      }
    };
  }

  TensorIndex table(const std::string& name, uint64_t rows, uint64_t width) {
    return builder_.add_table(name, {rows, width}, values(1));
  }

  Linear linear(const std::string& name, uint32_t out, uint32_t in) {
    Linear made;
    made.weight = builder_.add_linear(name + ".weight", out, in, values(1.7 / std::sqrt(in)));
    made.bias = builder_.add_floats(name + ".bias", {out}, values(0.1));
    return made;
  }

  Norm norm(const std::string& name) {
    Norm made;
    made.scale = builder_.add_floats(name + ".weight", {shape_.d_model}, values(0.1, 1));
    made.bias = builder_.add_floats(name + ".bias", {shape_.d_model}, values(0.1));
    return made;
  }

  Projection projection() {
    Projection made;
    made.kind = shape_.k == 0 ? ProjectionKind::none : ProjectionKind::linear;
    if (shape_.k == 0) return made;
    made.k = shape_.k;
    if (shape_.window > 0) made.order = ProjectionOrder::after_linear;
    made.weight = builder_.add_projection("compress_k.weight", shape_.k, shape_.n, values(1.7 / std::sqrt(shape_.n)));
    return made;
  }

  LayerDescription layer(const std::string& name) {
    const uint32_t d = shape_.d_model;
    LayerDescription made;
    AttentionDescription& attention = made.attention;
    attention.heads = attention.kv_heads = shape_.heads;
    attention.head_dim = d / shape_.heads;
    attention.scale = static_cast<float>(1 / std::sqrt(attention.head_dim));
    attention.query = linear(name + ".q_proj", d, d);
    attention.key = linear(name + ".k_proj", d, d);
    attention.value = linear(name + ".v_proj", d, d);
    attention.output = linear(name + ".out_proj", d, d);
    attention.window = shape_.window;
    attention.key_projections = attention.value_projections = {0};
    made.attention_norm = norm(name + ".self_attn_layer_norm");
    made.ffn_in = linear(name + ".fc1", shape_.ffn, d);
    made.ffn_out = linear(name + ".fc2", d, shape_.ffn);
    made.ffn_norm = norm(name + ".final_layer_norm");
    return made;
  }

  const ModelShape& shape_;
  writer::ModelBuilder& builder_;
  uint64_t tensors_ = 0;
};
#endif

}  // namespace

std::vector<std::string> size_names() { return {"tiny", "small", "base", "large"}; }

ModelShape shape_of(const std::string& size) {
  const auto found = shapes().find(size);
  if (found == shapes().end()) throw std::runtime_error("there is no model size " + size);
  return found->second;
}

#ifdef LINFORMER_WITH_WRITER
bool can_make_models() { return true; }

void write_random_model(const ModelShape& shape, ElementType type, const std::string& path) {
  writer::ModelBuilder builder(type);
  Maker(shape, &builder).make();
  builder.write(path);
}
#else
bool can_make_models() { return false; }

void write_random_model(const ModelShape&, ElementType, const std::string&) {
  throw std::runtime_error("random models need the converter: configure with -DLINFORMER_BUILD_CONVERTER=ON");
}
#endif

}  // namespace linformer::bench
