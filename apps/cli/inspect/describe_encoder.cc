#include "inspect/describe_encoder.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "command_line/display.h"
#include "inspect/describe_projections.h"

namespace linformer::cli {
namespace {

bool equals(const char* name, std::string_view other) { return name == other; }

// Returns the kind of positions. Callers add the layout of sinusoidal positions.
std::string positions_name(const EmbeddingInfo& embedding) {
  return std::string_view(embedding.positions).starts_with("sinusoidal") ? "sinusoidal" : embedding.positions;
}

// Returns the description of a layer in the terms of the file format.
nlohmann::ordered_json layer_json(const LayerInfo& layer) {
  return {{"heads", layer.heads},
          {"kv_heads", layer.kv_heads},
          {"head_dim", layer.head_dim},
          {"scale", double_of_shortest_text(layer.scale)},
          {"value_is_key", layer.value_is_key},
          {"causal", layer.causal},
          {"key_projections", layer.key_projections},
          {"value_projections", layer.value_projections},
          {"key_source", layer.key_source},
          {"row_mask", layer.row_mask},
          {"output_activation", layer.output_activation},
          {"rotary_base", double_of_shortest_text(layer.rotary_base)},
          {"rotary_scale", double_of_shortest_text(layer.rotary_scale)},
          {"window", layer.window},
          {"norm_kind", layer.norm_kind},
          {"query_key_norms", layer.query_key_norms},
          {"outer_norm", layer.outer_norm},
          {"activation", layer.activation},
          {"gated", layer.gated},
          {"width", layer.width},
          {"full_attention", layer.full_attention},
          {"ffn", layer.ffn_width}};
}

// Returns the value of all layers, such as "3072", or the range if layers differ, such as "1024 to 3072".
template <class Value>
std::string across_layers(const EncoderParts& encoder, Value value) {
  std::set<int64_t> values;
  for (const LayerInfo& layer : encoder.layers) values.insert(value(layer));
  if (values.empty()) return "-";
  const std::string least = std::to_string(*values.begin());
  return values.size() == 1 ? least : least + " to " + std::to_string(*values.rbegin());
}

// Returns ", TEXT" if the predicate holds for all layers, ", TEXT in N layers" if it holds for only some, and an empty
// string if it holds for none.
template <class Predicate>
std::string layers_suffix(const EncoderParts& encoder, const std::string& text, Predicate predicate) {
  const auto count = std::count_if(encoder.layers.begin(), encoder.layers.end(), predicate);
  if (count == 0) return {};
  const bool all = count == static_cast<ptrdiff_t>(encoder.layers.size());
  return ", " + text + (all ? "" : " in " + std::to_string(count) + (count == 1 ? " layer" : " layers"));
}

std::string input_text(const EmbeddingInfo& embedding) {
  if (embedding.reads_tokens) {
    return "tokens" + (embedding.prefix_token < 0
                           ? ""
                           : ", with id " + std::to_string(embedding.prefix_token) + " put before them");
  }
  std::string text = "vectors of " + std::to_string(embedding.vector_width);
  if (embedding.vector_norm_in) text += ", norm";
  if (embedding.vector_linear_width > 0) text += ", linear to " + std::to_string(embedding.vector_linear_width);
  if (embedding.vector_norm_out) text += ", norm";
  return text + (equals(embedding.prefix, "row") ? ", with a learned row put before them" : "");
}

std::string layers_text(const EncoderParts& encoder) {
  const EncoderInfo& info = encoder.info;
  const std::string widths = across_layers(encoder, [](const LayerInfo& l) { return l.width; });
  std::string text = std::to_string(info.layers) + ", d_model " + std::to_string(info.width);
  if (info.layers > 0 && widths != std::to_string(info.width)) text += " (in the layers " + widths + ")";
  text += equals(info.norm, "pre") ? ", pre-norm" : ", post-norm";
  if (info.final_norm) text += ", final norm";
  if (info.output_linear) text += ", then linear to " + std::to_string(info.output_width);
  if (equals(info.residual, "reversible")) text += ", reversible";
  if (equals(info.residual, "none")) text += ", without residuals";
  return text + (info.zero_masked_rows ? ", masked rows zero at the end" : "");
}

std::string attention_text(const EncoderParts& e) {
  using Layer = LayerInfo;
  return across_layers(e, [](const Layer& l) { return l.heads; }) + " heads of " +
         across_layers(e, [](const Layer& l) { return l.head_dim; }) +
         layers_suffix(e, "one key and value head for all",
                       [](const Layer& l) { return l.kv_heads == 1 && l.heads > 1; }) +
         layers_suffix(e, "fewer key and value heads",
                       [](const Layer& l) { return l.kv_heads > 1 && l.kv_heads < l.heads; }) +
         layers_suffix(e, "norms of queries and keys", [](const Layer& l) { return l.query_key_norms; }) +
         layers_suffix(e, "values are the keys", [](const Layer& l) { return l.value_is_key; }) +
         layers_suffix(e, "causal", [](const Layer& l) { return l.causal; }) +
         layers_suffix(e, "rotary positions", [](const Layer& l) { return l.rotary_base != 0; }) +
         layers_suffix(e, "within a window", [](const Layer& l) { return l.window != 0 && l.full_attention; }) +
         layers_suffix(e, "a window beside compressed keys",
                       [](const Layer& l) { return l.window != 0 && !l.full_attention; }) +
         layers_suffix(e, "bias by position", [](const Layer& l) { return l.position_bias; }) +
         layers_suffix(e, "masked rows zeroed", [](const Layer& l) { return equals(l.row_mask, "zeroed"); }) +
         layers_suffix(e, "masked rows left out", [](const Layer& l) { return equals(l.row_mask, "excluded"); }) +
         layers_suffix(e, "keys from encoder states of " + std::to_string(e.info.encoder_states_width),
                       [](const Layer& l) { return equals(l.key_source, "encoder_states"); }) +
         layers_suffix(e, "keys from encoder states where there are any",
                       [](const Layer& l) { return equals(l.key_source, "encoder_states_or_own"); });
}

std::string feed_forward_text(const EncoderParts& encoder) {
  std::set<std::string> activations;
  for (const LayerInfo& layer : encoder.layers) {
    if (layer.ffn_width > 0) activations.insert(layer.activation);
  }
  if (activations.empty()) return "none";
  std::string text = across_layers(encoder, [](const LayerInfo& l) { return l.ffn_width; });
  for (const std::string& activation : activations) text += ", " + activation;
  return text + layers_suffix(encoder, "gated", [](const LayerInfo& l) { return l.gated; });
}

std::string positions_text(const EmbeddingInfo& embedding) {
  std::string text = positions_name(embedding);
  if (equals(embedding.positions, "sinusoidal_halves")) text += " (sines, then cosines)";
  if (equals(embedding.positions, "sinusoidal_interleaved")) text += " (sines and cosines in turn)";
  if (equals(embedding.positions, "learned") && embedding.position_offset > 0) {
    text += ", offset " + std::to_string(embedding.position_offset);
  }
  if (embedding.positions_count_non_pad) text += ", pads not counted";
  if (embedding.token_types > 0) {
    text +=
        "; " + std::to_string(embedding.token_types) + (embedding.token_types == 1 ? " token type" : " token types");
  }
  if (embedding.factor_width > 0) text += "; embedding of " + std::to_string(embedding.factor_width) + ", factorised";
  if (embedding.norm) text += "; embedding norm";
  if (embedding.transform) text += "; linear on the embedding";
  return text;
}

}  // namespace

std::vector<DescriptionLine> encoder_lines(const EncoderParts& encoder) {
  const EncoderInfo& info = encoder.info;
  std::vector<DescriptionLine> lines;
  lines.emplace_back("input", input_text(info.embedding));
  lines.emplace_back("max tokens", std::to_string(info.max_tokens));
  if (info.embedding.reads_tokens) {
    lines.emplace_back("vocabulary", grouped(static_cast<uint64_t>(info.vocabulary)) +
                                         (info.pad_id < 0 ? ", no pad" : ", pad id " + std::to_string(info.pad_id)));
  }
  if (encoder.layers.empty()) {
    lines.emplace_back("layers", "none: rows of the token embedding, of " + std::to_string(info.width));
    return lines;
  }
  lines.emplace_back("positions", positions_text(info.embedding));
  lines.emplace_back("layers", layers_text(encoder));
  lines.emplace_back("attention", attention_text(encoder));
  lines.emplace_back("projection", projection_text(encoder));
  if (const std::string sharing = sharing_text(encoder); !sharing.empty()) lines.emplace_back("sharing", sharing);
  lines.emplace_back("feed-forward", feed_forward_text(encoder));
  return lines;
}

void add_encoder_json(const EncoderParts& encoder, nlohmann::ordered_json* out) {
  nlohmann::ordered_json& json = *out;
  const EncoderInfo& info = encoder.info;
  const EmbeddingInfo& embedding = info.embedding;
  const auto id_or_null = [](int32_t id) {
    return id < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(id);
  };
  json["max_tokens"] = info.max_tokens;
  json["vocab_size"] = info.vocabulary;
  json["pad_id"] = id_or_null(info.pad_id);
  json["d_model"] = info.width;
  json["norm"] = info.norm;
  json["residual"] = info.residual;
  json["output_width"] = nullptr;
  if (info.output_linear) json["output_width"] = info.output_width;
  json["encoder_states_width"] = info.encoder_states_width;
  json["input"] = embedding.reads_tokens ? "tokens" : "vectors";
  if (!embedding.reads_tokens) json["vector_width"] = embedding.vector_width;
  json["prefix"] = embedding.prefix;
  json["prefix_token"] = id_or_null(embedding.prefix_token);
  json["positions"] = positions_name(embedding);
  if (equals(embedding.positions, "sinusoidal_halves")) json["position_layout"] = "halves";
  if (equals(embedding.positions, "sinusoidal_interleaved")) json["position_layout"] = "interleaved";
  json["token_types"] = embedding.token_types;
  json["sharing"] = sharing_json(encoder);
  json["projections"] = projections_json(encoder);
  auto& layers = json["layers"] = nlohmann::ordered_json::array();
  for (const LayerInfo& layer : encoder.layers) layers.push_back(layer_json(layer));
}

}  // namespace linformer::cli
