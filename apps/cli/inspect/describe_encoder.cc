#include "inspect/describe_encoder.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "base/description.h"
#include "command_line/display.h"
#include "inspect/describe_projections.h"
#include "model/description_fields.h"

namespace linformer::cli {
namespace {

// Where sines and cosines lie is said apart.
const char* name_of(PositionKind kind) {
  return kind == PositionKind::sinusoidal_halves || kind == PositionKind::sinusoidal_interleaved ? "sinusoidal"
                                                                                                 : enum_name(kind);
}

// What the fields of a layer say, except which tensors it has.
class LayerFields : public FieldVisitor {
 public:
  nlohmann::ordered_json json;

  template <class T>
  void operator()(const Field& field, const T& in) {
    if constexpr (std::is_same_v<T, AttentionDescription>) {
      FieldsOf<T>::visit(*this, in);
    } else if constexpr (std::is_enum_v<T>) {
      json[field.name] = enum_name(in);
    } else if constexpr (std::is_same_v<T, float>) {
      json[field.name] = shortest(in);
    } else if constexpr (!HasFields<T> && !std::is_same_v<T, TensorIndex>) {
      json[field.name] = in;
    }
  }
};

// Values that differ between layers as "3072" or "1024 to 3072".
template <class Value>
std::string across_layers(const EncoderDescription& encoder, Value value) {
  std::set<uint64_t> values;
  for (const LayerDescription& layer : encoder.layers) values.insert(value(layer));
  if (values.empty()) return "-";
  const std::string least = std::to_string(*values.begin());
  return values.size() == 1 ? least : least + " to " + std::to_string(*values.rbegin());
}

// `text` where all layers are so, `text` with their number where only some are, nothing where none is.
template <class Predicate>
std::string where(const EncoderDescription& encoder, const std::string& text, Predicate predicate) {
  const auto count = std::count_if(encoder.layers.begin(), encoder.layers.end(), predicate);
  if (count == 0) return {};
  const bool all = count == static_cast<ptrdiff_t>(encoder.layers.size());
  return ", " + text + (all ? "" : " in " + std::to_string(count) + (count == 1 ? " layer" : " layers"));
}

uint64_t ffn_width(const ModelDescription& description, const LayerDescription& layer) {
  if (!layer.ffn_in.present()) return 0;
  return outputs_of(description, layer.ffn_in) / (layer.gated ? 2 : 1);
}

// What a layer reads is as wide as its query's input.
uint64_t layer_width(const ModelDescription& description, const LayerDescription& layer) {
  return description.tensors[static_cast<size_t>(layer.attention.query.weight)].shape[1];
}

std::string input_text(const ModelDescription& description, const EncoderDescription& encoder) {
  const EmbeddingDescription& embedding = encoder.embedding;
  if (embedding.tokens != absent) {
    return "tokens" + (embedding.prefix_token < 0
                           ? ""
                           : ", with id " + std::to_string(embedding.prefix_token) + " put before them");
  }
  const VectorInput& vectors = embedding.vectors;
  std::string text = "vectors of " + std::to_string(vectors.width);
  if (vectors.norm_in.present()) text += ", norm";
  if (vectors.linear.present()) text += ", linear to " + std::to_string(outputs_of(description, vectors.linear));
  if (vectors.norm_out.present()) text += ", norm";
  return text + (embedding.prefix != absent ? ", with a learned row put before them" : "");
}

std::string layers_text(const ModelDescription& description, const EncoderDescription& encoder) {
  const std::string widths =
      across_layers(encoder, [&](const LayerDescription& l) { return layer_width(description, l); });
  std::string text = std::to_string(encoder.layers.size()) + ", d_model " + std::to_string(encoder.d_model);
  if (!encoder.layers.empty() && widths != std::to_string(encoder.d_model)) text += " (in the layers " + widths + ")";
  text += encoder.norm_placement == NormPlacement::pre ? ", pre-norm" : ", post-norm";
  if (encoder.final_norm.present()) text += ", final norm";
  if (encoder.output.present()) {
    text += ", then linear to " + std::to_string(outputs_of(description, encoder.output));
  }
  if (encoder.residual == ResidualKind::reversible) text += ", reversible";
  if (encoder.residual == ResidualKind::none) text += ", without residuals";
  return text + (encoder.zero_masked_rows ? ", masked rows zero at the end" : "");
}

std::string attention_text(const EncoderDescription& e) {
  using Layer = LayerDescription;
  return across_layers(e, [](const Layer& l) { return l.attention.heads; }) + " heads of " +
         across_layers(e, [](const Layer& l) { return l.attention.head_dim; }) +
         where(e, "one key and value head for all",
               [](const Layer& l) { return l.attention.kv_heads == 1 && l.attention.heads > 1; }) +
         where(e, "values are the keys", [](const Layer& l) { return l.attention.value_is_key; }) +
         where(e, "causal", [](const Layer& l) { return l.attention.causal; }) +
         where(e, "rotary positions", [](const Layer& l) { return l.attention.rotary_base != 0; }) +
         where(e, "within a window", [](const Layer& l) { return l.attention.window != 0; }) +
         where(e, "bias by position", [](const Layer& l) { return l.attention.position_bias != absent; }) +
         where(e, "masked rows zeroed", [](const Layer& l) { return l.attention.row_mask == RowMask::zeroed; }) +
         where(e, "masked rows left out", [](const Layer& l) { return l.attention.row_mask == RowMask::excluded; }) +
         where(e, "keys from encoder states of " + std::to_string(e.encoder_states_width),
               [](const Layer& l) { return l.attention.key_source == KeySource::encoder_states; }) +
         where(e, "keys from encoder states where there are any",
               [](const Layer& l) { return l.attention.key_source == KeySource::encoder_states_or_own; });
}

std::string feed_forward_text(const ModelDescription& description, const EncoderDescription& encoder) {
  std::set<std::string> activations;
  for (const LayerDescription& layer : encoder.layers) {
    if (layer.ffn_in.present()) activations.insert(linformer::name_of(layer.activation));
  }
  if (activations.empty()) return "none";
  std::string text = across_layers(encoder, [&](const LayerDescription& l) { return ffn_width(description, l); });
  for (const std::string& activation : activations) text += ", " + activation;
  return text + where(encoder, "gated", [](const LayerDescription& l) { return l.gated; });
}

std::string positions_text(const ModelDescription& description, const EncoderDescription& encoder) {
  const EmbeddingDescription& embedding = encoder.embedding;
  std::string text = name_of(embedding.position_kind);
  if (embedding.position_kind == PositionKind::sinusoidal_halves) text += " (sines, then cosines)";
  if (embedding.position_kind == PositionKind::sinusoidal_interleaved) text += " (sines and cosines in turn)";
  if (embedding.position_kind == PositionKind::learned && embedding.position_offset > 0) {
    text += ", offset " + std::to_string(embedding.position_offset);
  }
  if (embedding.positions_count_non_pad) text += ", pads not counted";
  if (embedding.token_types != absent) {
    const uint64_t types = description.tensors[static_cast<size_t>(embedding.token_types)].shape[0];
    text += "; " + std::to_string(types) + (types == 1 ? " token type" : " token types");
  }
  if (embedding.factor.present()) {
    const TensorDescription& factor = description.tensors[static_cast<size_t>(embedding.factor.weight)];
    text += "; embedding of " + std::to_string(factor.shape[1]) + ", factorised";
  }
  if (embedding.norm.present()) text += "; embedding norm";
  if (embedding.transform.present()) text += "; linear on the embedding";
  return text;
}

}  // namespace

uint64_t outputs_of(const ModelDescription& description, const Linear& linear) {
  return description.tensors[static_cast<size_t>(linear.weight)].shape[0];
}

std::vector<DescriptionLine> encoder_lines(const ModelDescription& description, const EncoderDescription& encoder) {
  std::vector<DescriptionLine> lines;
  lines.emplace_back("input", input_text(description, encoder));
  lines.emplace_back("max tokens", std::to_string(encoder.max_tokens));
  if (encoder.embedding.tokens != absent) {
    lines.emplace_back(
        "vocabulary",
        grouped(encoder.vocab_size) + (encoder.pad_id < 0 ? ", no pad" : ", pad id " + std::to_string(encoder.pad_id)));
  }
  lines.emplace_back("positions", positions_text(description, encoder));
  lines.emplace_back("layers", layers_text(description, encoder));
  lines.emplace_back("attention", attention_text(encoder));
  lines.emplace_back("projection", projection_text(encoder));
  if (const std::string sharing = sharing_text(encoder); !sharing.empty()) lines.emplace_back("sharing", sharing);
  lines.emplace_back("feed-forward", feed_forward_text(description, encoder));
  return lines;
}

void add_encoder_json(const ModelDescription& description, const EncoderDescription& e, nlohmann::ordered_json* out) {
  nlohmann::ordered_json& json = *out;
  const auto id_or_null = [](int32_t id) {
    return id < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(id);
  };
  json["max_tokens"] = e.max_tokens;
  json["vocab_size"] = e.vocab_size;
  json["pad_id"] = id_or_null(e.pad_id);
  json["d_model"] = e.d_model;
  json["norm"] = enum_name(e.norm_placement);
  json["residual"] = enum_name(e.residual);
  json["output_width"] = nullptr;
  if (e.output.present()) json["output_width"] = outputs_of(description, e.output);
  json["encoder_states_width"] = e.encoder_states_width;
  const EmbeddingDescription& embedding = e.embedding;
  json["input"] = embedding.tokens != absent ? "tokens" : "vectors";
  if (embedding.tokens == absent) json["vector_width"] = embedding.vectors.width;
  json["prefix"] = embedding.prefix != absent ? "row" : embedding.prefix_token >= 0 ? "token" : "none";
  json["prefix_token"] = id_or_null(embedding.prefix_token);
  json["positions"] = name_of(embedding.position_kind);
  if (embedding.position_kind == PositionKind::sinusoidal_halves) json["position_layout"] = "halves";
  if (embedding.position_kind == PositionKind::sinusoidal_interleaved) json["position_layout"] = "interleaved";
  json["token_types"] =
      embedding.token_types == absent ? 0 : description.tensors[static_cast<size_t>(embedding.token_types)].shape[0];
  json["sharing"] = sharing_json(e);
  json["projections"] = projections_json(e);
  auto& layers = json["layers"] = nlohmann::ordered_json::array();
  for (const LayerDescription& layer : e.layers) {
    LayerFields fields;
    FieldsOf<LayerDescription>::visit(fields, layer);
    fields.json["width"] = layer_width(description, layer);
    fields.json["full_attention"] = is_full(e, layer);
    fields.json["ffn"] = ffn_width(description, layer);
    layers.push_back(std::move(fields.json));
  }
}

}  // namespace linformer::cli
