#include "converter/dialects/linearised/linearised.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/readers/error.h"
#include "model/limits.h"

namespace linformer::convert {

namespace {

constexpr std::string_view tensors_begin = "linformer.layers.", keys_end = ".keys", values_end = ".values";

// The layer whose keys or values a tensor compresses.
struct Place {
  size_t layer;
  bool values;
};

// Returns the place that a tensor's name gives, or nothing if the name is not that of a compressing matrix.
std::optional<Place> place_of(std::string_view name) {
  if (!name.starts_with(tensors_begin)) return std::nullopt;
  name.remove_prefix(tensors_begin.size());
  const bool values = name.ends_with(values_end);
  if (!values && !name.ends_with(keys_end)) return std::nullopt;
  name.remove_suffix(values ? values_end.size() : keys_end.size());
  const bool plain = !name.empty() && name.size() <= 4 && name.find_first_not_of("0123456789") == name.npos &&
                     (name.size() == 1 || name[0] != '0');
  if (!plain) return std::nullopt;
  return Place{std::stoul(std::string(name)), values};
}

// Returns the whole number that a setting has. `name` is what errors call the setting, with its source. Throws Error if
// the number is less than `least` or too large.
uint32_t number_of(Value value, const std::string& name, int64_t least = 0) {
  if (!value.is(ValueKind::integer)) fail(name, " is a ", value.kind_name(), ", not a whole number");
  const int64_t number = *value.integer();
  if (number < least || number > int64_t{max_dimension}) {
    fail(name, " is ", number, "; ", least, " to ", max_dimension, " are possible");
  }
  return static_cast<uint32_t>(number);
}

// Throws Error if the object has a key that is not in `known`.
void check_keys(Value object, const std::string& name, std::initializer_list<std::string_view> known) {
  const std::vector<Value>& items = object.items();
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (std::find(known.begin(), known.end(), items[i].text()) != known.end()) continue;
    std::string names;
    for (const std::string_view key : known) names += (names.empty() ? "" : ", ") + std::string(key);
    fail(name, " has the unknown key ", quote(items[i].text()), "; known are: ", names);
  }
}

// Returns "8", or "4 to 8" if the numbers differ.
std::string range_text(const std::vector<uint32_t>& numbers) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return std::to_string(*least) + (*least == *most ? "" : " to " + std::to_string(*most));
}

}  // namespace

std::string Linearised::layer_name(size_t index) const {
  return "the setting " + std::string(linearised_setting) + ".layers[" + std::to_string(index) + "]";
}

Linearised Linearised::extract(Checkpoint& checkpoint, const Settings& settings) {
  Linearised made;
  const std::optional<Setting<Value>> setting = settings.value(linearised_setting);
  try {
    if (setting) made.read_setting(*setting);
    const auto is_taken = [&](const Tensor& tensor) {
      return setting ? tensor.name.starts_with(tensors_begin) : place_of(tensor.name).has_value();
    };
    const auto first = std::find_if(checkpoint.tensors.begin(), checkpoint.tensors.end(), is_taken);
    if (first != checkpoint.tensors.end()) {
      if (!setting) {
        fail("the tensor ", quote(first->name), " belongs to a linearised encoder, but there is no setting ",
             linearised_setting, ": give the config.json that was written beside the tensors with ",
             placeholder(Option::config));
      }
      made.tensors_ = checkpoint.extract_tensors(is_taken);
    }
    for (size_t i = 0; i < made.tensors_.size(); ++i) made.assign_tensor(i);
    for (size_t i = 0; i < made.layers_.size(); ++i) {
      if (made.layers_[i].k == 0 || made.layers_[i].keys != none) continue;
      fail("the tensor ", quote(std::string(tensors_begin) + std::to_string(i) + std::string(keys_end)),
           " is missing, but ", made.layer_name(i), ".k", made.source_in_parentheses(), " is ", made.layers_[i].k,
           ": the checkpoint is incomplete");
    }
  } catch (const Error& error) {
    throw Error(checkpoint.name + ": " + error.what());
  }
  return made;
}

void Linearised::read_setting(const Setting<Value>& setting) {
  source_ = setting.source;
  const std::string name = "the setting " + std::string(linearised_setting),
                    list = name + ".layers" + source_in_parentheses();
  if (!setting.value.is(ValueKind::dict)) {
    fail(name, source_in_parentheses(), " is a ", setting.value.kind_name(),
         ", not an object such as {\"layers\": [null, ", "{\"k\": 64, \"window\": 32}]}");
  }
  check_keys(setting.value, name + source_in_parentheses(), {"layers"});
  const Value layers = setting.value.find("layers");
  if (!layers.is(ValueKind::list)) {
    fail(list, " is ", layers ? std::string("a ") + layers.kind_name() : "missing",
         ": give a list that has null or an object for each layer");
  }
  if (layers.items().size() > max_layers) {
    fail(list, " has ", layers.items().size(), " entries; at most ", max_layers, " are possible");
  }
  layers_.resize(layers.items().size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Value entry = layers.items()[i];
    if (!entry.is(ValueKind::null)) read_layer(entry, &layers_[i], layer_name(i));
  }
}

void Linearised::read_layer(Value entry, Layer* layer, const std::string& name) const {
  if (!entry.is(ValueKind::dict)) {
    fail(name, source_in_parentheses(), " is a ", entry.kind_name(),
         ": give null, or an object such as {\"k\": 64, \"window\": ", "32}");
  }
  check_keys(entry, name + source_in_parentheses(), {"k", "window", "exact_tokens", "span"});
  layer->changed = true;
  for (const auto& [key, number] : {std::pair("k", &layer->k), std::pair("window", &layer->window)}) {
    const Value value = entry.find(key);
    if (!value) fail(name, source_in_parentheses(), " lacks ", key, ": give 0 if the layer has none");
    *number = number_of(value, name + "." + key + source_in_parentheses());
  }
  if (layer->k == 0 && layer->window == 0) {
    fail(name, source_in_parentheses(),
         " has k 0 and window 0, so no row would attend to any: give null for full attention");
  }
  if (const Value span = entry.find("span")) layer->span = number_of(span, name + ".span" + source_in_parentheses());
  const std::string tokens_name = name + ".exact_tokens" + source_in_parentheses();
  if (const Value tokens = entry.find("exact_tokens")) {
    if (!tokens.is(ValueKind::list)) fail(tokens_name, " is a ", tokens.kind_name(), ", not a list of token ids");
    const size_t most = std::min(layer->k, max_exact_tokens);
    if (layer->window != 0 && tokens.items().size() > most) {
      fail(tokens_name, " has ", tokens.items().size(), " tokens; at most ", most, " are possible with k ", layer->k);
    }
    for (const Value& token : tokens.items()) layer->exact_tokens.push_back(number_of(token, tokens_name));
  }
  const bool both = layer->k > 0 && layer->window > 0;
  if (both || (layer->span == 0 && layer->exact_tokens.empty())) return;
  fail(name, layer->span > 0 ? ".span" : ".exact_tokens", source_in_parentheses(),
       " needs both k and window above 0, but ", layer->k == 0 ? "k" : "window", " is 0");
}

void Linearised::assign_tensor(size_t index) {
  const std::string& name = tensors_[index].name;
  const std::optional<Place> place = place_of(name);
  if (!place) {
    fail("the tensor ", quote(name), " is neither ", tensors_begin, "I", keys_end, " nor ", tensors_begin, "I",
         values_end, " of a layer I");
  }
  if (place->layer >= layers_.size()) {
    fail("the tensor ", quote(name), " belongs to layer ", place->layer, ", but the setting ", linearised_setting,
         ".layers", source_in_parentheses(), " has ", layers_.size(), " entries");
  }
  Layer& layer = layers_[place->layer];
  if (layer.k == 0) {
    fail("the tensor ", quote(name), " compresses rows, but ", layer_name(place->layer), source_in_parentheses(), " ",
         layer.changed ? "has k 0" : "is null", ": give the number of its rows as k");
  }
  (place->values ? layer.values : layer.keys) = index;
}

void Linearised::check(const Dialect& dialect) const {
  if (source_.empty() || dialect.may_be_linearised()) return;
  std::string names;
  for (const Dialect* known : dialects()) {
    if (known->may_be_linearised()) names += (names.empty() ? "" : ", ") + std::string(known->name());
  }
  fail("the setting ", linearised_setting, source_in_parentheses(), " is for encoders of the dialects ", names,
       ": remove it to convert this checkpoint");
}

uint64_t Linearised::elements() const {
  uint64_t all = 0;
  for (const Tensor& tensor : tensors_) all += tensor.elements;
  return all;
}

// Throws Error for a layer that the runtime would refuse in the model file. Unlike the runtime's error, it names the
// setting.
void Linearised::check_layer(size_t index, const EncoderDescription& encoder) const {
  const Layer& layer = layers_[index];
  const AttentionDescription& attention = encoder.layers[index].attention;
  const std::string name = layer_name(index);
  if (attention.window != 0) {
    fail(name, source_in_parentheses(), " changes a layer that has a window of its own (", attention.window,
         " tokens on each side): give null");
  }
  if (layer.k > 0 && layer.window == 0 && attention.position_bias != absent) {
    fail(name, ".window", source_in_parentheses(), " is 0 and k is ", layer.k,
         ", but the model adds a bias to scores by the ",
         "distance between tokens, which compressed keys do not have: give a window above 0, or null");
  }
  if (layer.span > encoder.max_tokens) {
    fail(name, ".span", source_in_parentheses(), " is ", layer.span, ", but the model takes texts of up to ",
         encoder.max_tokens, " tokens: give a span of at most ", encoder.max_tokens,
         " or, if the encoder has positions for longer texts, allow them with ",
         config_option("{\"max_seq_length\": " + std::to_string(layer.span) + "}"));
  }
  for (const uint32_t token : layer.exact_tokens) {
    if (token < encoder.vocab_size) continue;
    fail(name, ".exact_tokens", source_in_parentheses(), " has the token ", token, ", but the vocabulary has ",
         encoder.vocab_size, " tokens");
  }
}

void Linearised::apply(Checkpoint& checkpoint, Conversion& conversion) {
  if (source_.empty()) return;
  EncoderDescription& encoder = conversion.description.encoder;
  if (layers_.size() != encoder.layers.size()) {
    fail("the setting ", linearised_setting, ".layers", source_in_parentheses(), " has ", layers_.size(),
         " entries, but the model has ", encoder.layers.size(), " layers");
  }
  const size_t first = checkpoint.tensors.size();
  checkpoint.restore_tensors(std::move(tensors_));
  // Projection 0 of these encoders is full attention, which no layer uses if all are compressed.
  if (std::all_of(layers_.begin(), layers_.end(), [](const Layer& layer) { return layer.k > 0; })) {
    encoder.projections.clear();
  }
  size_t uses = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (!layer.changed) continue;
    check_layer(i, encoder);
    AttentionDescription& attention = encoder.layers[i].attention;
    attention.window = layer.window;
    if (layer.k == 0) continue;
    const std::string role = "layers[" + std::to_string(i) + "].attention.";
    const auto add = [&](size_t tensor, const char* side) {
      return add_projection(layer, checkpoint.tensors[first + tensor], role + side, conversion);
    };
    // Nothing is masked, because each compressed row is a sum over all rows of a text. Sessions remove pads before they
    // run. If their options keep pads, the sums include them.
    attention.row_mask = RowMask::none;
    attention.key_projections = {add(layer.keys, "key_projection")};
    attention.value_projections = attention.key_projections;
    if (layer.values != none) attention.value_projections = {add(layer.values, "value_projection")};
    uses += 2;
  }
  report(conversion.report, encoder.projections, uses);
}

uint32_t Linearised::add_projection(const Layer& layer, const Tensor& matrix, const std::string& role,
                                    Conversion& conversion) {
  EncoderDescription& encoder = conversion.description.encoder;
  const uint32_t longest = encoder.max_tokens;
  if (matrix.shape.size() != 2 || matrix.shape[0] != layer.k) {
    fail("the tensor ", quote(matrix.name), " is ", shape_text(matrix), ", but [", layer.k, " (k in the setting ",
         linearised_setting, "), N] is expected");
  }
  const uint32_t columns = dimension(matrix, 1);
  if (columns < longest) {
    fail("the tensor ", quote(matrix.name), " is ", shape_text(matrix), ", but the model takes texts of up to ",
         longest, " tokens: to cut texts to ", columns, " tokens, give ",
         config_option("{\"max_seq_length\": " + std::to_string(columns) + "}"));
  }
  Projection made;
  made.order = ProjectionOrder::after_linear;
  made.k = layer.k;
  made.weight = conversion.weights.projection(role, columns > longest ? first_columns(matrix, longest) : matrix,
                                              {{layer.k, "k"}, {longest, "N"}});
  made.span = layer.span;
  made.exact_tokens = layer.exact_tokens;
  const auto same = [&](const Projection& known) {
    return known.weight == made.weight && known.span == made.span && known.exact_tokens == made.exact_tokens;
  };
  Array<Projection>& projections = encoder.projections;
  const auto place = std::find_if(projections.begin(), projections.end(), same);
  if (place != projections.end()) return static_cast<uint32_t>(place - projections.begin());
  projections.push_back(std::move(made));
  return static_cast<uint32_t>(projections.size() - 1);
}

void Linearised::report(Report& report, const Array<Projection>& projections, size_t uses) const {
  const std::string source = std::string(linearised_setting) + ", " + source_;
  std::vector<uint32_t> k, windows;
  size_t changed = 0;
  for (const Layer& layer : layers_) {
    changed += layer.changed;
    if (layer.k > 0) k.push_back(layer.k);
    if (layer.window > 0) windows.push_back(layer.window);
  }
  const std::string share = changed == layers_.size()
                                ? "all " + std::to_string(changed)
                                : std::to_string(changed) + " of " + std::to_string(layers_.size());
  for (Report::Fact& fact : report.facts) {
    if (fact.name != "attention" || changed == 0) continue;
    fact.value = "linearised in " + share + " layers" + (changed == layers_.size() ? "" : ", else " + fact.value);
    fact.source = source;
  }
  if (!k.empty()) {
    const auto distinct = std::count_if(projections.begin(), projections.end(),
                                        [](const Projection& projection) { return projection.k > 0; });
    report.add_fact("projections", std::to_string(distinct) + " distinct for " + std::to_string(uses) + " uses",
                    "values");
    report.add_fact("compressed length (k)", range_text(k), source);
  }
  if (!windows.empty()) {
    report.add_fact("linearised window", range_text(windows) + " tokens on each side", source);
  }
}

}  // namespace linformer::convert
