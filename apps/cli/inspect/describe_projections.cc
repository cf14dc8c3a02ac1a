#include "inspect/describe_projections.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "command_line/display.h"

namespace linformer::cli {
namespace {

constexpr size_t listed = 8;  // At most this many values are listed one by one.

bool is_none(const ProjectionInfo& projection) { return std::string_view(projection.kind) == "none"; }

std::string kind_text(const ProjectionInfo& projection) {
  return is_none(projection) ? "none (full attention)" : underscores_to_spaces(projection.kind);
}

bool is_scaled(const ProjectionInfo& projection) { return std::string_view(projection.length_scale) != "none"; }

const char* scale_text(const ProjectionInfo& projection) {
  return std::string_view(projection.length_scale) == "inverse_root" ? "divided by the root of the text's length"
                                                                     : "with the norms of whole rows at every length";
}

// The key by which a projection is recognised if it is listed more than once.
using ProjectionKey = std::tuple<std::string_view, int64_t, int, int, int64_t, int64_t>;
ProjectionKey key_of(const ProjectionInfo& p) { return {p.kind, p.k, p.weight, p.bias, p.kernel, p.stride}; }

// Where projections are shared, in the terms of section 4 of the paper: by all heads, by keys and values, or by all
// layers.
struct Sharing {
  bool heads = true, key_value = true, layers = true;
  size_t distinct = 0;
};

Sharing sharing_of(const EncoderParts& encoder) {
  Sharing sharing;
  std::set<ProjectionKey> all, first_layer;
  for (const LayerInfo& layer : encoder.layers) {
    if (layer.full_attention) continue;
    std::vector<ProjectionKey> keys, values;
    for (const uint32_t p : layer.key_projections) keys.push_back(key_of(encoder.projections[p]));
    for (const uint32_t p : layer.value_projections) values.push_back(key_of(encoder.projections[p]));
    if (layer.value_is_key) values = keys;  // In this case value_projections may be empty.
    const auto alike = [](const std::vector<ProjectionKey>& list) {
      return std::all_of(list.begin(), list.end(), [&](const ProjectionKey& key) { return key == list.front(); });
    };
    sharing.heads = sharing.heads && alike(keys) && alike(values);
    // A list with one projection means that all heads use it.
    sharing.key_value = sharing.key_value && (keys == values || (alike(keys) && alike(values) && keys[0] == values[0]));
    std::set<ProjectionKey> both(keys.begin(), keys.end());
    both.insert(values.begin(), values.end());
    if (all.empty()) first_layer = both;
    sharing.layers = sharing.layers && both == first_layer;
    all.insert(both.begin(), both.end());
  }
  sharing.distinct = all.size();
  return sharing;
}

// Returns the k of the heads, such as "128", "64, 128, 128, 128 by head" or "16 to 128 by head".
std::string k_text(const EncoderParts& encoder, std::span<const uint32_t> list) {
  std::vector<int64_t> values;
  for (const uint32_t p : list) values.push_back(encoder.projections[p].k);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least == *most) return std::to_string(*least);
  if (values.size() > listed) return std::to_string(*least) + " to " + std::to_string(*most) + " by head";
  std::string text;
  for (const int64_t k : values) text += (text.empty() ? "" : ", ") + std::to_string(k);
  return text + " by head";
}

std::string layer_text(const EncoderParts& encoder, const LayerInfo& layer) {
  if (layer.full_attention) return "none (full attention)";
  std::set<std::string> kinds, scales;
  std::set<std::string_view> orders;
  size_t with_bias = 0, count = 0;
  for (const std::span<const uint32_t> list : {layer.key_projections, layer.value_projections}) {
    for (const uint32_t index : list) {
      const ProjectionInfo& p = encoder.projections[index];
      std::string kind = kind_text(p);
      if (p.kernel > 0) {
        kind += " (windows of " + std::to_string(p.kernel) + ", one each " + std::to_string(p.stride) + ")";
      }
      kinds.insert(kind);
      if (!is_none(p)) orders.insert(p.order);
      if (is_scaled(p)) scales.insert(scale_text(p));
      with_bias += p.bias >= 0 ? 1 : 0;
      ++count;
    }
  }
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " and ") + kind;
  text += ", k = " + k_text(encoder, layer.key_projections);  // Loading checks that values have the same k.
  text += orders.size() > 1 ? ", before or after" : *orders.begin() == "before_linear" ? ", before" : ", after";
  text += " the key and value linears";
  for (const std::string& scale : scales) text += ", " + scale;
  return text + (with_bias == 0 ? "" : with_bias == count ? ", with bias" : ", some with bias");
}

}  // namespace

std::string projection_text(const EncoderParts& encoder) {
  struct Run {
    size_t first, last;
    std::string text;
  };
  std::vector<Run> runs;
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    std::string text = layer_text(encoder, encoder.layers[i]);
    if (!runs.empty() && runs.back().text == text) {
      runs.back().last = i;
    } else {
      runs.push_back({i, i, std::move(text)});
    }
  }
  if (runs.empty()) return "-";
  if (runs.size() == 1) return runs[0].text;
  if (runs.size() > listed) {
    // There are too many runs to describe each, so only the k of each run is listed.
    std::string text;
    for (const Run& run : runs)
      text += (text.empty() ? "" : ", ") + k_text(encoder, encoder.layers[run.first].key_projections);
    return "differs by layer; k of the keys by layer: " + text;
  }
  std::string text;
  for (const Run& run : runs) {
    const std::string range = run.first == run.last
                                  ? "layer " + std::to_string(run.first + 1)
                                  : "layers " + std::to_string(run.first + 1) + " to " + std::to_string(run.last + 1);
    text += (text.empty() ? "" : "; ") + range + ": " + run.text;
  }
  return text;
}

std::string sharing_text(const EncoderParts& encoder) {
  const Sharing sharing = sharing_of(encoder);
  if (sharing.distinct == 0) return {};
  std::string shared = sharing.heads ? "heads" : "";
  if (sharing.key_value) shared += (shared.empty() ? "" : ", ") + std::string("keys and values");
  if (sharing.layers) shared += (shared.empty() ? "" : ", ") + std::string("layers");
  return std::to_string(sharing.distinct) + (sharing.distinct == 1 ? " projection" : " projections") +
         (shared.empty() ? ", nothing shared" : ", shared by " + shared);
}

nlohmann::ordered_json projections_json(const EncoderParts& encoder) {
  auto json = nlohmann::ordered_json::array();
  for (const ProjectionInfo& p : encoder.projections) {
    json.push_back({{"kind", kind_text(p)}, {"k", p.k}, {"order", p.order}, {"bias", p.bias >= 0}});
    if (p.kernel > 0) {
      json.back()["kernel"] = p.kernel;
      json.back()["stride"] = p.stride;
    }
    if (is_scaled(p)) json.back()["length_scale"] = p.length_scale;
    if (p.span > 0) json.back()["span"] = p.span;
    if (!p.exact_tokens.empty()) json.back()["exact_tokens"] = p.exact_tokens;
  }
  return json;
}

nlohmann::ordered_json sharing_json(const EncoderParts& encoder) {
  const Sharing sharing = sharing_of(encoder);
  if (sharing.distinct == 0) return nullptr;
  return {{"distinct_projections", sharing.distinct},
          {"heads", sharing.heads},
          {"keys_and_values", sharing.key_value},
          {"layers", sharing.layers}};
}

}  // namespace linformer::cli
