#include "converter/dialects/lucidrains/layers.h"

#include <algorithm>

#include "base/description.h"
#include "converter/readers/error.h"

namespace linformer::convert::lucidrains {

namespace {

// The names of a layer's norms, and what the names in its attention and in its feed-forward network begin with.
struct LayerNames {
  std::string attention_norm, attention, ffn_norm, ffn;
};

// Returns the names of a layer whose attention and feed-forward network each have a norm and a module fn.
LayerNames halves(const std::string& attention, const std::string& ffn) {
  return {attention + "norm", attention + "fn.", ffn + "norm", ffn + "fn."};
}

LayerNames layer_names(const std::string& prefix, Layout layout, uint32_t layer) {
  switch (layout) {
    case Layout::layers: {
      const std::string names = prefix + "net.layers." + std::to_string(layer);
      return halves(names + ".0.", names + ".1.");
    }
    case Layout::reversible: {
      const std::string names = prefix + "net.blocks." + std::to_string(layer);
      return halves(names + ".f.net.", names + ".g.net.");
    }
    case Layout::fours: {
      const std::string names = prefix + "layers." + std::to_string(layer);
      return {names + ".0", names + ".1.", names + ".2", names + ".3."};
    }
    case Layout::pairs:
      break;
  }
  const std::string names = prefix + "net.";
  return halves(names + std::to_string(2 * layer) + ".fn.", names + std::to_string(2 * layer + 1) + ".fn.");
}

uint32_t count_layers(const TensorTable& tensors, const std::string& prefix, Layout layout) {
  if (layout == Layout::layers) return count_modules(tensors, prefix + "net.layers.");
  if (layout == Layout::reversible) return count_modules(tensors, prefix + "net.blocks.");
  if (layout == Layout::fours) return count_modules(tensors, prefix + "layers.");
  const uint32_t parts = count_modules(tensors, prefix + "net.", "half-layer", 2 * max_layers);
  if (parts % 2 != 0) {
    fail("the last layer has an attention (", prefix, "net.", parts - 1,
         ") and no feed-forward network after it: the checkpoint is incomplete");
  }
  return parts / 2;
}

// Returns the activation between w1 and w2. Models of the package itself always have its default, gelu.
Activation activation_of(const Settings& settings) {
  const std::optional<Setting<std::string>> said = settings.text("activation");
  if (!said) return Activation::gelu;
  for (const Activation known : {Activation::gelu, Activation::relu, Activation::leaky_relu, Activation::silu}) {
    if (said->value == name_of(known)) return known;
  }
  fail("the setting activation is ", quote(said->value), " (", said->source,
       "); gelu, relu, leaky_relu and silu are supported");
}

// Returns whether the network is gated. Then `first` has twice as many outputs as `second` has inputs: one half of them
// is activated and multiplied by the other half.
bool is_gated(const Tensor& first, const Tensor& second, const Settings& settings) {
  const uint32_t given = dimension(first, 0), taken = dimension(second, 1);
  const bool gated = given == 2 * uint64_t{taken};
  if (!gated && given != taken) {
    fail("the tensor ", quote(first.name), " ", shape_text(first), " gives ", given, " channels and ",
         quote(second.name), " ", shape_text(second), " takes ", taken,
         ": as many are expected, or twice as many (glu)");
  }
  const std::optional<Setting<bool>> said = settings.flag("glu");
  if (said && said->value != gated) {
    fail("the setting glu is ", said->value ? "true" : "false", " (", said->source, ") but ", quote(first.name), " ",
         shape_text(first), " gives ", gated ? "twice" : "just", " the channels that ", quote(second.name), " takes");
  }
  return gated;
}

// Reads the feed-forward network of the last layer in encoder.layers.
void read_feed_forward(Conversion& conversion, TensorTable& tensors, const Settings& settings, const std::string& names,
                       uint32_t index) {
  EncoderDescription& encoder = conversion.description.encoder;
  LayerDescription& layer = encoder.layers.back();
  const std::string role = "layers[" + std::to_string(index) + "].";
  // In older versions the network is a Sequential of a Linear, LeakyReLU and a Linear. It is never gated.
  const bool sequence = tensors.find(names + "net.0.weight") != nullptr;
  const std::string in = names + (sequence ? "net.0" : "w1"), out = names + (sequence ? "net.2" : "w2");
  const Tensor &first = tensors.need(in + ".weight"), &second = tensors.need(out + ".weight");
  layer.activation = sequence ? Activation::leaky_relu : activation_of(settings);
  layer.gated = !sequence && is_gated(first, second, settings);
  const Size d_model{encoder.d_model, "dim"}, ffn{dimension(second, 1), "ffn width"};
  const Size given{ffn.value * (layer.gated ? 2 : 1), layer.gated ? "twice the ffn width" : ffn.meaning};
  layer.ffn_in = read_linear(conversion, tensors, role + "ffn_in", in, given, d_model);
  layer.ffn_out = read_linear(conversion, tensors, role + "ffn_out", out, d_model, ffn);
  if (index > 0) return;
  Report& report = conversion.report;
  report.add_fact("ffn width", std::to_string(ffn.value), "columns of " + second.name);
  report.add_fact("activation", name_of(layer.activation),
                  sequence                     ? "names of the tensors: fn.net.0 and fn.net.2"
                  : settings.has("activation") ? "activation, " + settings.text("activation")->source
                                               : "names of the tensors: w1 and w2");
}

// Returns how compressed rows are scaled by the text's length. If masked-linformer is given a mask, it multiplies each
// compressed row by the norm of the projection's row over all N tokens and divides it by the norm over the text's
// tokens.
LengthScale scale_of(const Settings& settings, Layout layout, Report& report) {
  const std::optional<Setting<bool>> said = settings.flag("renorm");
  if (!said && layout != Layout::fours) return LengthScale::none;
  if (!said) {
    missing_setting(
        "whether masked-linformer scaled the compressed rows by the text's length, as it does by default if a mask or "
        "pad_id is given,",
        config_option(R"({"renorm": true})") + ", or " + config_option(R"({"renorm": false})") +
            " for a model that was made with renorm=False or never given a mask");
  }
  report.add_fact("compressed rows", said->value ? "scaled to the norms of a whole text" : "as they are",
                  "renorm, " + said->source);
  return said->value ? LengthScale::restored_norm : LengthScale::none;
}

}  // namespace

bool is_key_projection_name(std::string_view name, const std::string& prefix) {
  return matches(name, prefix + "net.layers.*.0.fn.proj_k") || matches(name, prefix + "net.blocks.*.f.net.fn.proj_k") ||
         matches(name, prefix + "net.*.fn.fn.proj_k") || matches(name, prefix + "layers.*.1.proj_k");
}

std::optional<Layout> layout_of(const TensorTable& tensors, const std::string& prefix) {
  if (tensors.any(prefix + "net.layers.**")) return Layout::layers;
  if (tensors.any(prefix + "net.blocks.**")) return Layout::reversible;
  if (tensors.any(prefix + "net.*.fn.**")) return Layout::pairs;
  if (tensors.any(prefix + "layers.*.1.**")) return Layout::fours;
  return std::nullopt;
}

uint32_t projection_input_length(const TensorTable& tensors, const std::string& prefix, Layout layout) {
  const std::string name = layer_names(prefix, layout, 0).attention + "proj_k";
  const Tensor* projection = tensors.find(name);
  if (projection == nullptr) fail("the tensor ", quote(name), " is missing: the checkpoint is incomplete");
  return dimension(*projection, 0);
}

AttentionReader::AttentionReader(Conversion& conversion, TensorTable& tensors, const Settings& settings,
                                 LengthScale length_scale)
    : conversion_(conversion),
      encoder_(conversion.description.encoder),
      tensors_(tensors),
      settings_(settings),
      weights_(conversion.weights),
      report_(conversion.report),
      projections_(encoder_, conversion.weights, ProjectionOrder::after_linear, length_scale) {}

// Sets the numbers of heads and their width. If the keys are narrower than the queries, all heads share one head of
// keys and values, whose width is that of the keys.
void AttentionReader::read_sizes(const std::string& prefix, AttentionDescription* attention) {
  const Tensor& query = tensors_.need(prefix + "to_q.weight");
  const Tensor& key = tensors_.need(prefix + "to_k.weight");
  const uint32_t width = dimension(query, 0), key_width = dimension(key, 0);
  const bool first = encoder_.layers.size() == 1;
  Report unused;
  if (key_width == width) {
    attention->heads = attention->kv_heads =
        read_head_count(settings_, "heads", width, first ? report_ : unused, " (the package's default is 8)");
  } else {
    if (key_width > width || width % key_width != 0 || width / key_width > max_heads) {
      fail("the tensor ", quote(key.name), " is ", shape_text(key), " and ", quote(query.name), " ", shape_text(query),
           ": the keys should be as wide as the queries, or as one of at most ", max_heads, " heads");
    }
    attention->heads = width / key_width;
    attention->kv_heads = 1;
    check_agreement(settings_, "heads", attention->heads, "heads");
    if (first) {
      report_.add_fact("heads", std::to_string(attention->heads) + ", one of them for keys and values",
                       "rows of " + query.name + " and " + key.name);
    }
  }
  attention->head_dim = width / attention->heads;
  attention->scale = usual_scale(attention->head_dim);
  check_agreement(settings_, "dim_head", attention->head_dim, "channels in each head");
}

// Returns a projection as [k, N]. The checkpoint has it as [rows, k]; if the model takes texts of fewer than `rows`
// tokens, only the first N rows are used.
Tensor AttentionReader::projection(const std::string& name) {
  const Tensor view = transposed(tensors_.need(name));
  return dimension(view, 1) > encoder_.max_tokens ? first_columns(view, encoder_.max_tokens) : view;
}

void AttentionReader::read(const std::string& prefix, size_t layer, AttentionDescription* attention) {
  const std::string role = "layers[" + std::to_string(layer) + "].attention.";
  read_sizes(prefix, attention);
  const Size d_model{encoder_.d_model, "dim"};
  const Size queries{uint64_t{attention->heads} * attention->head_dim, "heads x dim_head"};
  const Size keys{uint64_t{attention->kv_heads} * attention->head_dim, "width of the keys"};
  const auto linear = [&](const char* part, const char* name, Size out) {
    return weights_.linear(role + part, tensors_.need(prefix + name), nullptr, out, d_model);
  };
  attention->query = linear("query", "to_q.weight", queries);
  attention->key = linear("key", "to_k.weight", keys);
  attention->key_projections = {projections_.add(role + "key_projection", projection(prefix + "proj_k"))};
  // With share_kv, to_v and proj_v are absent, and the values are the keys.
  const bool value = tensors_.find(prefix + "to_v.weight") != nullptr;
  if (value || tensors_.find(prefix + "proj_v") != nullptr) {
    attention->value = linear("value", "to_v.weight", keys);
    attention->value_projections = {projections_.add(role + "value_projection", projection(prefix + "proj_v"))};
    check_same_k(encoder_, *attention, layer);
  } else {
    attention->value_is_key = true;
  }
  if (tensors_.any(prefix + "to_out.*")) {
    attention->output = read_linear(conversion_, tensors_, role + "output", prefix + "to_out", d_model, queries);
  } else if (queries.value != d_model.value) {
    fail("the tensor ", quote(prefix + "to_out.weight"), " is missing: without it the heads' width ", queries.value,
         " would have to be dim, which is ", d_model.value);
  }
}

void AttentionReader::report() const {
  const AttentionDescription& attention = encoder_.layers.front().attention;
  const Projection& first = encoder_.projections[attention.key_projections[0]];
  report_.add_fact("compressed length (k)", std::to_string(first.k), "shape of proj_k");
  report_.add_fact("values", attention.value_is_key ? "are the keys (share_kv)" : "of their own",
                   attention.value_is_key ? "to_v is absent" : "to_v is there");
  projections_.report(report_);
  check_agreement(settings_, "k", first.k, "compressed positions");
  if (!attention.output.present()) {
    report_.add_fact("attention's output", "the heads as they are", "to_out is absent: version 0.0.5 or older");
  }
}

void add_layers(Conversion& conversion, TensorTable& tensors, const Settings& settings, const std::string& prefix,
                Layout layout) {
  EncoderDescription& encoder = conversion.description.encoder;
  Report& report = conversion.report;
  encoder.norm_placement = NormPlacement::pre;
  encoder.residual = layout == Layout::reversible ? ResidualKind::reversible : ResidualKind::standard;
  const uint32_t count = count_layers(tensors, prefix, layout);
  check_agreement(settings, "depth", count, "layers");
  report.add_fact("layers", std::to_string(count) + (layout == Layout::reversible ? ", reversible" : ""),
                  "names of the tensors");
  const LengthScale scale = scale_of(settings, layout, report);
  if (scale != LengthScale::none && projection_input_length(tensors, prefix, layout) > encoder.max_tokens) {
    fail("the model's positions are for ", encoder.max_tokens,
         " tokens and its projections for more, whose norms (the ",
         "setting renorm) can't be known from the part that is used: this is not supported");
  }
  AttentionReader attention(conversion, tensors, settings, scale);
  const Size d_model{encoder.d_model, "dim"};
  for (uint32_t i = 0; i < count; ++i) {
    const LayerNames names = layer_names(prefix, layout, i);
    const std::string role = "layers[" + std::to_string(i) + "].";
    LayerDescription& layer = encoder.layers.emplace_back();
    layer.attention_norm = read_norm(conversion, tensors, role + "attention_norm", names.attention_norm, d_model);
    attention.read(names.attention, i, &layer.attention);
    layer.ffn_norm = read_norm(conversion, tensors, role + "ffn_norm", names.ffn_norm, d_model);
    read_feed_forward(conversion, tensors, settings, names.ffn, i);
  }
  const auto gated =
      std::count_if(encoder.layers.begin(), encoder.layers.end(), [](const LayerDescription& l) { return l.gated; });
  if (gated > 0) {
    report.add_fact("gated (glu)", std::to_string(gated) + " of " + std::to_string(count) + " layers",
                    "w1 gives twice what w2 takes");
  }
  attention.report();
}

}  // namespace linformer::convert::lucidrains
