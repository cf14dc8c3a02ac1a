#include "converter/dialects/hugging_face/encoder.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/alibi.h"
#include "converter/dialects/hugging_face/relative_bias.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert::hugging_face {

namespace {

constexpr const char* position_embeddings = "embeddings.position_embeddings.weight";
constexpr float roformer_base = 10000;

// Returns a view of `count` rows: row `first` and every second row after it.
Tensor every_other_row(const Tensor& tensor, uint64_t first, uint64_t count) {
  Tensor rows = slice_rows(tensor, first, 2 * count - 1);
  rows.elements = rows.elements / rows.shape[0] * count;
  rows.shape[0] = count;
  rows.strides[0] *= 2;
  rows.source_strides[0] *= 2;
  return rows;
}

}  // namespace

Norm EncoderReader::norm(const std::string& role, const std::string& name, Size width) {
  Norm made = read_norm(conversion_, tensors_, role, name, width);
  made.epsilon = epsilon_;
  return made;
}

// Returns the number of layers that a text passes through. If layers share weights, the groups of layers are run
// several times, and only the settings say how often.
uint32_t EncoderReader::count_layers() {
  const char* inner = family_.extras.inner_layers;
  if (inner == nullptr) return count_modules(tensors_, family_.layers);
  groups_ = count_modules(tensors_, family_.layers, "group of layers");
  inner_layers_ = count_modules(tensors_, family_.layers + std::string("0.") + inner);
  check_agreement(settings_, "num_hidden_groups", groups_, "groups of layers");
  check_agreement(settings_, "inner_group_num", inner_layers_, "layers in a group");
  const std::optional<Setting<int64_t>> runs = settings_.integer(family_.settings.layers);
  if (!runs) {
    missing_setting("the number of layers, which share weights,",
                    "the model's config.json, " + placeholder(Option::config) + " config.json, or " +
                        config_option(std::string("{\"") + family_.settings.layers + "\": NUMBER}"));
  }
  if (runs->value < groups_ || runs->value > int64_t{max_layers} / inner_layers_) {
    fail("the setting ", family_.settings.layers, " is ", runs->value, " (", runs->source, "); ", groups_, " to ",
         max_layers / inner_layers_, " are possible, because the checkpoint has ", groups_, " groups of ",
         inner_layers_, " layers");
  }
  return static_cast<uint32_t>(runs->value) * inner_layers_;
}

// Returns the beginning of the names of a layer's tensors. If layers share weights, run r of R runs uses group r * G /
// R of the G groups.
std::string EncoderReader::layer_prefix(uint32_t index) const {
  const char* inner = family_.extras.inner_layers;
  if (inner == nullptr) return family_.layers + std::to_string(index) + ".";
  const uint64_t run = index / inner_layers_, runs = layers_ / inner_layers_;
  return family_.layers + std::to_string(run * groups_ / runs) + "." + inner + std::to_string(index % inner_layers_) +
         ".";
}

uint32_t EncoderReader::count_positions() {
  const bool learned = family_.extras.rotary_table == nullptr && family_.extras.gates == nullptr;
  const Tensor* table = learned ? &tensors_.need(position_embeddings)
                                : tensors_.find(family_.extras.rotary_table ? family_.extras.rotary_table : "");
  if (table != nullptr) {
    position_count_source_ = "rows of " + table->name;
    check_agreement(settings_, "max_position_embeddings", dimension(*table, 0), "rows of positions");
    return dimension(*table, 0);
  }
  const std::optional<Setting<int64_t>> said = settings_.integer("max_position_embeddings");
  if (!said) {
    missing_setting("the longest text's number of tokens", "the model's config.json, " + placeholder(Option::config) +
                                                               " config.json, or " +
                                                               config_option(R"({"max_position_embeddings": NUMBER})"));
  }
  if (said->value < 1 || said->value > int64_t{max_dimension}) {
    fail("the setting max_position_embeddings is ", said->value, " (", said->source, "); 1 to ", max_dimension,
         " are possible");
  }
  position_count_source_ = "max_position_embeddings, " + said->source;
  return static_cast<uint32_t>(said->value);
}

uint32_t EncoderReader::read_sizes(const Tensor& token_table) {
  EncoderDescription& encoder = conversion_.description.encoder;
  Report& report = conversion_.report;
  encoder.vocab_size = dimension(token_table, 0);
  encoder.d_model = table_width_ = dimension(token_table, 1);
  if (family_.extras.factor != nullptr) {
    const Tensor* factor = tensors_.find(family_.extras.factor + std::string(".weight"));
    if (factor != nullptr) encoder.d_model = dimension(*factor, 0);
    check_agreement(settings_, "embedding_size", table_width_, "channels of the embedding");
  }
  layers_ = count_layers();
  encoder.pad_id = pad_token_of(settings_, family_.usual_pad, encoder.vocab_size, report);
  const uint32_t rows = count_positions();
  const uint32_t first = family_.positions_after_pad ? static_cast<uint32_t>(encoder.pad_id) + 1 : 0;
  if (rows <= first) {
    fail("the tensor ", quote(position_embeddings), " has only ", rows, " rows, but the first token uses row ", first,
         ", counted from 0");
  }
  if (first > 0) position_count_source_ += " from row " + std::to_string(first);
  encoder.embedding.position_offset = first;
  report.add_fact("d_model", std::to_string(encoder.d_model), "shape of " + token_table.name);
  report.add_fact("vocabulary", std::to_string(encoder.vocab_size), "shape of " + token_table.name);
  report.add_fact("layers", std::to_string(layers_), "names of the tensors");
  check_agreement(settings_, family_.settings.width, encoder.d_model, "channels");
  check_agreement(settings_, family_.settings.layers, layers_ / inner_layers_, "layers");
  check_agreement(settings_, "vocab_size", encoder.vocab_size, "tokens");
  heads_ = read_head_count(settings_, family_.settings.heads, encoder.d_model, report,
                           ", or the model's config.json: " + placeholder(Option::config) + " config.json");
  if (family_.extras.rotary_table != nullptr && encoder.d_model / heads_ % 2 != 0) {
    fail("the setting ", family_.settings.heads, " gives heads of ", encoder.d_model / heads_,
         " channels: rotary positions rotate them in pairs");
  }
  activation_ = activation_of(settings_, family_.settings.activation, report);
  if (family_.extras.gates != nullptr) activation_ = gate_activation(settings_, activation_, report);
  epsilon_ = epsilon_of(settings_, family_, report);
  return rows - first;
}

void EncoderReader::add_positions() {
  EncoderDescription& encoder = conversion_.description.encoder;
  EmbeddingDescription& embedding = encoder.embedding;
  embedding.position_kind = PositionKind::learned;
  embedding.positions = conversion_.weights.table("embedding.positions", tensors_.need(position_embeddings),
                                                  {0, "positions"}, table_width());
  if (!family_.positions_after_pad) return;
  // Unlike fairseq, these classes do not set the rows of pads to zero.
  embedding.positions_count_non_pad = true;
  embedding.pad_position = static_cast<uint32_t>(encoder.pad_id);
}

void EncoderReader::add_embedding(const Tensor& token_table) {
  EncoderDescription& encoder = conversion_.description.encoder;
  EmbeddingDescription& embedding = encoder.embedding;
  WeightWriter& weights = conversion_.weights;
  embedding.tokens = weights.table("embedding.tokens", token_table, {encoder.vocab_size, "vocabulary"}, table_width());
  if (family_.extras.rotary_table == nullptr && family_.extras.gates == nullptr) add_positions();
  // The runtime does not need this table, whose values follow from the settings. The model file keeps it for the
  // export: an exported checkpoint is recognised by this table.
  const Tensor* turns = family_.extras.rotary_table ? tensors_.use(family_.extras.rotary_table) : nullptr;
  if (turns != nullptr) weights.floats("rotary table", *turns, {{0, "positions"}, {encoder.d_model / heads_, "head"}});
  if (family_.has_token_types) {
    const Tensor& types = tensors_.need("embeddings.token_type_embeddings.weight");
    embedding.token_types = weights.table("embedding.token_types", types, {0, "token types"}, table_width());
  }
  if (family_.extras.embedding_norm) embedding.norm = norm("embedding.norm", "embeddings.LayerNorm", table_width());
  const char* factor = family_.extras.factor;
  if (factor == nullptr ||
      (table_width_ == encoder.d_model && tensors_.find(factor + std::string(".weight")) == nullptr)) {
    return;
  }
  embedding.factor = read_linear(conversion_, tensors_, "embedding.factor", factor, d_model(), table_width());
  embedding.norm_before_factor = true;
}

// Reads the Linear of queries or keys whose neighbouring channels form the pairs that are rotated. In the model file,
// channels j and j + half of a head form a pair, so each head's even channels are put before its odd ones. Scores stay
// the same, because queries and keys are reordered in the same way.
Linear EncoderReader::read_rotary_linear(const std::string& role, const std::string& name) {
  const Tensor &weight = tensors_.need(name + ".weight"), &bias = tensors_.need(name + ".bias");
  const uint64_t head_dim = conversion_.description.encoder.d_model / heads_, half = head_dim / 2;
  if (dimension(weight, 0) != d_model().value || dimension(bias, 0) != d_model().value) {
    fail("the tensors ", quote(weight.name), " and ", quote(bias.name), " should have ", d_model().value, " rows");
  }
  std::vector<Tensor> weights, biases;
  for (uint64_t row = 0; row < d_model().value; row += head_dim) {
    for (uint64_t side = 0; side < 2; ++side) {
      weights.push_back(every_other_row(weight, row + side, half));
      biases.push_back(every_other_row(bias, row + side, half));
    }
  }
  return conversion_.weights.stacked_linear(role, weights, biases, d_model(), d_model());
}

void EncoderReader::add_gated_network(const std::string& prefix, const std::string& role, LayerDescription* layer) {
  const std::string name = prefix + family_.extras.gates;
  const Tensor& gates = tensors_.need(name + ".weight");
  const uint64_t rows = dimension(gates, 0);
  if (rows % 2 != 0) {
    fail("the tensor ", quote(gates.name), " is ", shape_text(gates),
         ": one half of its rows should be gates, so their number must be even");
  }
  layer->gated = true;
  if (family_.extras.activates_second_half) {
    // In the model file, the half that is activated comes first.
    const Tensor* const bias = tensors_.use(name + ".bias");
    if (bias != nullptr && dimension(*bias, 0) != rows) {
      fail("the tensor ", quote(bias->name), " is ", shape_text(*bias), ": it should have ", rows, " elements");
    }
    std::vector<Tensor> weights, biases;
    for (const uint64_t first : {rows / 2, uint64_t{0}}) {
      weights.push_back(slice_rows(gates, first, rows / 2));
      if (bias != nullptr) biases.push_back(slice_rows(*bias, first, rows / 2));
    }
    layer->ffn_in =
        conversion_.weights.stacked_linear(role + "ffn_in", weights, biases, {rows, "ffn width"}, d_model());
  } else {
    layer->ffn_in =
        read_linear_maybe_bias(conversion_, tensors_, role + "ffn_in", name, {rows, "ffn width"}, d_model());
  }
  for (const LayerPart& part : family_.parts) {
    const auto* member = std::get_if<Linear LayerDescription::*>(&part.member);
    if (member == nullptr || *member != &LayerDescription::ffn_out) continue;
    layer->ffn_out =
        read_linear(conversion_, tensors_, role + "ffn_out", prefix + part.name, d_model(), {rows / 2, "ffn width"});
  }
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
  const std::string role = "layers[" + std::to_string(index) + "].";
  if (family_.extras.rotary_table != nullptr) {
    attention.rotary_base = roformer_base;
    attention.query = read_rotary_linear(role + "attention.query", prefix + "attention.self.query");
    attention.key = read_rotary_linear(role + "attention.key", prefix + "attention.self.key");
  }
  if (family_.extras.gates != nullptr) add_gated_network(prefix, role, &layer);
  read_layer_parts(conversion_, tensors_, family_.parts, prefix, index, {d_model(), d_model(), {0, "ffn width"}},
                   &layer);
  for (Norm* norm :
       {&attention.query_norm, &attention.key_norm, &layer.attention_norm, &layer.outer_norm, &layer.ffn_norm}) {
    if (norm->present()) norm->epsilon = epsilon_;
  }
  const TensorDescription& inner = conversion_.description.tensors[static_cast<size_t>(layer.ffn_in.weight)];
  const uint64_t ffn = inner.shape[0] / (layer.gated ? 2 : 1);
  if (index == 0) conversion_.report.add_fact("ffn width", std::to_string(ffn), "rows of " + inner.name);
  check_agreement(settings_, family_.settings.ffn, static_cast<int64_t>(ffn), "channels inside the ffn");
  return layer;
}

void EncoderReader::add_position_bias() {
  const bool learned = family_.extras.relative_bias != nullptr;
  if (!learned && family_.extras.gates == nullptr) return;
  EncoderDescription& encoder = conversion_.description.encoder;
  const uint64_t columns = 2 * uint64_t{encoder.max_tokens} - 1;
  std::vector<float> bias = conversion_.weights.zeroed_table(heads_, columns);
  std::string source = "ALiBi: a slope for each head";
  if (learned) {
    const Tensor& buckets = tensors_.need(family_.extras.relative_bias + std::string(".weight"));
    source = "values of " + buckets.name;
    check_agreement(settings_, "relative_attention_num_buckets", static_cast<int64_t>(dimension(buckets, 0)),
                    "buckets");
    conversion_.weights.floats("position bias by bucket", buckets, {{0, "buckets"}, {heads_, "heads"}});
    fill_relative_bias(conversion_.weights.read(buckets), dimension(buckets, 0), heads_, bias);
  } else {
    fill_alibi(heads_, bias);
  }
  const TensorIndex index =
      conversion_.weights.computed_table("position_bias", "position_bias", {heads_, columns}, bias);
  for (LayerDescription& layer : encoder.layers) layer.attention.position_bias = index;
  conversion_.report.add_fact("position bias", "one table for all layers", source);
}

}  // namespace linformer::convert::hugging_face
