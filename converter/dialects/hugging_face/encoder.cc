#include "converter/dialects/hugging_face/encoder.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert::hugging_face {

namespace {

constexpr const char* position_embeddings = "embeddings.position_embeddings.weight";

}  // namespace

Norm EncoderReader::norm(const std::string& role, const std::string& name) {
  Norm made = read_norm(conversion_, tensors_, role, name, d_model());
  made.epsilon = epsilon_;
  return made;
}

uint32_t EncoderReader::read_sizes(const Tensor& tokens) {
  EncoderDescription& encoder = conversion_.description.encoder;
  Report& report = conversion_.report;
  const Tensor& positions = tensors_.need(position_embeddings);
  encoder.vocab_size = dimension(tokens, 0);
  encoder.d_model = dimension(tokens, 1);
  layers_ = count_modules(tensors_, family_.layers);
  encoder.pad_id = pad_of(settings_, family_, encoder.vocab_size, report);
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
  check_agreement(settings_, family_.settings.layers, layers_, "layers");
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
  embedding.tokens = weights.table("embedding.tokens", tokens, {encoder.vocab_size, "vocabulary"}, d_model());
  embedding.position_kind = PositionKind::learned;
  embedding.positions =
      weights.table("embedding.positions", tensors_.need(position_embeddings), {0, "positions"}, d_model());
  if (family_.positions_after_pad) {
    // Unlike fairseq, these classes leave the rows of pads as they are.
    embedding.positions_count_non_pad = true;
    embedding.pad_position = static_cast<uint32_t>(encoder.pad_id);
  }
  if (family_.has_token_types) {
    const Tensor& types = tensors_.need("embeddings.token_type_embeddings.weight");
    embedding.token_types = weights.table("embedding.token_types", types, {0, "token types"}, d_model());
  }
  embedding.norm = norm("embedding.norm", "embeddings.LayerNorm");
}

LayerDescription& EncoderReader::add_layer(uint32_t index) {
  EncoderDescription& encoder = conversion_.description.encoder;
  LayerDescription& layer = encoder.layers.emplace_back();
  const std::string prefix = family_.layers + std::to_string(index) + ".";
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

}  // namespace linformer::convert::hugging_face
