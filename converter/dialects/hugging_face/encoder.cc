#include "converter/dialects/hugging_face/encoder.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/relative_bias.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert::hugging_face {

namespace {

constexpr const char* position_embeddings = "embeddings.position_embeddings.weight";

}  // namespace

Norm EncoderReader::norm(const std::string& role, const std::string& name, Size width) {
  Norm made = read_norm(conversion_, tensors_, role, name, width);
  made.epsilon = epsilon_;
  return made;
}

// Groups of layers that share their weights are run again and again: how often, the settings alone say.
uint32_t EncoderReader::count_layers() {
  const char* inner = family_.extras.inner_layers;
  if (inner == nullptr) return count_modules(tensors_, family_.layers);
  groups_ = count_modules(tensors_, family_.layers, "group of layers");
  inner_layers_ = count_modules(tensors_, family_.layers + std::string("0.") + inner);
  const std::optional<Setting<int64_t>> runs = settings_.integer(family_.settings.layers);
  if (!runs) {
    missing_setting("the number of layers, which share weights,",
                    "the model's config.json, --config config.json, or " +
                        config_option(std::string("{\"") + family_.settings.layers + "\": NUMBER}"));
  }
  if (runs->value < groups_ || runs->value > int64_t{max_layers} / inner_layers_) {
    fail("the setting ", family_.settings.layers, " is ", runs->value, " (", runs->source, "); ", groups_, " to ",
         max_layers / inner_layers_, " are possible with ", groups_, " groups of ", inner_layers_);
  }
  return static_cast<uint32_t>(runs->value) * inner_layers_;
}

// Group i of G is run by the layers from i * L / G on.
std::string EncoderReader::layer_prefix(uint32_t index) const {
  const char* inner = family_.extras.inner_layers;
  if (inner == nullptr) return family_.layers + std::to_string(index) + ".";
  const uint64_t run = index / inner_layers_, runs = layers_ / inner_layers_;
  return family_.layers + std::to_string(run * groups_ / runs) + "." + inner + std::to_string(index % inner_layers_) +
         ".";
}

uint32_t EncoderReader::read_sizes(const Tensor& tokens) {
  EncoderDescription& encoder = conversion_.description.encoder;
  Report& report = conversion_.report;
  const Tensor& positions = tensors_.need(position_embeddings);
  encoder.vocab_size = dimension(tokens, 0);
  encoder.d_model = table_width_ = dimension(tokens, 1);
  if (family_.extras.factor != nullptr) {
    const Tensor* factor = tensors_.find(family_.extras.factor + std::string(".weight"));
    if (factor != nullptr) encoder.d_model = dimension(*factor, 0);
    check_agreement(settings_, "embedding_size", table_width_, "channels of the embedding");
  }
  layers_ = count_layers();
  encoder.pad_id = pad_of(settings_, family_.usual_pad, encoder.vocab_size, report);
  const uint32_t rows = dimension(positions, 0);
  const uint32_t first = family_.positions_after_pad ? static_cast<uint32_t>(encoder.pad_id) + 1 : 0;
  if (rows <= first) {
    fail("the tensor ", quote(positions.name), " is ", shape_text(positions), ": the first token has row ", first);
  }
  encoder.embedding.position_offset = first;
  report.add_fact("d_model", std::to_string(encoder.d_model), "shape of " + tokens.name);
  report.add_fact("vocabulary", std::to_string(encoder.vocab_size), "shape of " + tokens.name);
  report.add_fact("layers", std::to_string(layers_), "names of the tensors");
  check_agreement(settings_, family_.settings.width, encoder.d_model, "channels");
  check_agreement(settings_, family_.settings.layers, layers_ / inner_layers_, "layers");
  check_agreement(settings_, "vocab_size", encoder.vocab_size, "tokens");
  check_agreement(settings_, "max_position_embeddings", rows, "rows of positions");
  heads_ = needed_heads(settings_, family_.settings.heads, encoder.d_model, report,
                        ", or the model's config.json: " + mark(Option::config) + " config.json");
  activation_ = activation_of(settings_, family_.settings.activation, report);
  epsilon_ = epsilon_of(settings_, family_, report);
  return rows - first;
}

void EncoderReader::add_embedding(const Tensor& tokens) {
  EncoderDescription& encoder = conversion_.description.encoder;
  EmbeddingDescription& embedding = encoder.embedding;
  WeightWriter& weights = conversion_.weights;
  embedding.tokens = weights.table("embedding.tokens", tokens, {encoder.vocab_size, "vocabulary"}, table_width());
  embedding.position_kind = PositionKind::learned;
  embedding.positions =
      weights.table("embedding.positions", tensors_.need(position_embeddings), {0, "positions"}, table_width());
  if (family_.positions_after_pad) {
    // Unlike fairseq, these classes leave the rows of pads as they are.
    embedding.positions_count_non_pad = true;
    embedding.pad_position = static_cast<uint32_t>(encoder.pad_id);
  }
  if (family_.has_token_types) {
    const Tensor& types = tensors_.need("embeddings.token_type_embeddings.weight");
    embedding.token_types = weights.table("embedding.token_types", types, {0, "token types"}, table_width());
  }
  embedding.norm = norm("embedding.norm", "embeddings.LayerNorm", table_width());
  const char* factor = family_.extras.factor;
  if (factor == nullptr ||
      (table_width_ == encoder.d_model && tensors_.find(factor + std::string(".weight")) == nullptr)) {
    return;
  }
  embedding.factor = read_linear(conversion_, tensors_, "embedding.factor", factor, d_model(), table_width());
  embedding.norm_before_factor = true;
}

LayerDescription& EncoderReader::add_layer(uint32_t index) {
  EncoderDescription& encoder = conversion_.description.encoder;
  LayerDescription& layer = encoder.layers.emplace_back();
  const std::string prefix = layer_prefix(index);
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.kv_heads = heads_;
  attention.head_dim = encoder.d_model / heads_;
  attention.scale = usual_scale(attention.head_dim);
  layer.activation = activation_;

  read_layer_parts(conversion_, tensors_, family_.parts, prefix, index, {d_model(), d_model(), {0, "ffn width"}},
                   &layer);
  layer.attention_norm.epsilon = layer.ffn_norm.epsilon = epsilon_;
  const TensorDescription& inner = conversion_.description.tensors[static_cast<size_t>(layer.ffn_in.weight)];
  const uint64_t ffn = inner.shape[0];
  if (index == 0) conversion_.report.add_fact("ffn width", std::to_string(ffn), "rows of " + inner.name);
  check_agreement(settings_, family_.settings.ffn, static_cast<int64_t>(ffn), "channels inside the ffn");
  return layer;
}

void EncoderReader::add_relative_bias() {
  if (family_.extras.relative_bias == nullptr) return;
  EncoderDescription& encoder = conversion_.description.encoder;
  const Tensor& buckets = tensors_.need(family_.extras.relative_bias + std::string(".weight"));
  conversion_.weights.floats("position bias by bucket", buckets, {{0, "buckets"}, {heads_, "heads"}});
  const uint64_t columns = 2 * uint64_t{encoder.max_tokens} - 1;
  const TensorIndex index = conversion_.weights.computed(
      "position_bias", "position_bias", {heads_, columns},
      relative_bias(conversion_.weights.read(buckets), dimension(buckets, 0), heads_, encoder.max_tokens));
  for (LayerDescription& layer : encoder.layers) layer.attention.position_bias = index;
  conversion_.report.add_fact("position bias", "one table for all layers", "values of " + buckets.name);
}

}  // namespace linformer::convert::hugging_face
