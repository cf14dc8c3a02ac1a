#include "converter/dialects/common.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/description.h"
#include "converter/readers/error.h"

namespace linformer::convert {

Settings user_and_checkpoint_settings(const Conversion& conversion) {
  Settings settings = conversion.user_settings;
  for (const char* key : {"config", "args", "hparams", "hyper_parameters"}) {
    settings.add_source(conversion.checkpoint.root.find(key), std::string(key) + " of the checkpoint");
  }
  return settings;
}

std::string config_option(const std::string& json) { return placeholder(Option::config, json); }

void missing_setting(const std::string& what, const std::string& settings) {
  fail(what, " is neither in the checkpoint nor visible in its tensors: give ", settings);
}

void check_agreement(const Settings& settings, const char* name, int64_t from_tensors, const char* what) {
  const std::optional<Setting<int64_t>> said = settings.integer(name);
  if (said && said->value != from_tensors) {
    fail("the setting ", name, " is ", said->value, " (", said->source, ") but the tensors have ", from_tensors, " ",
         what, ": the settings belong to another model, give the right ones with ", placeholder(Option::config));
  }
}

uint32_t read_head_count(const Settings& settings, const char* name, uint64_t width, Report& report,
                         const std::string& remark) {
  const std::optional<Setting<int64_t>> heads = settings.integer(name);
  if (!heads) {
    missing_setting(
        "the number of attention heads (together " + std::to_string(width) + " wide)",
        "the one that the model was made with, " + config_option(std::string("{\"") + name + "\": NUMBER}") + remark);
  }
  if (heads->value < 1 || heads->value > int64_t{max_heads}) {
    fail("the setting ", name, " is ", heads->value, " (", heads->source, "): 1 to ", max_heads, " are possible");
  }
  if (width % static_cast<uint64_t>(heads->value) != 0) {
    fail("the setting ", name, " is ", heads->value, " (", heads->source, "), which does not divide the width ", width,
         " of all heads together");
  }
  report.add_fact("heads", std::to_string(heads->value), std::string(name) + ", " + heads->source);
  return static_cast<uint32_t>(heads->value);
}

uint32_t count_modules(const TensorTable& tensors, const std::string& prefix, const char* what, uint32_t most) {
  uint32_t count = 0;
  std::vector<bool> present;
  for (const std::string& name : tensors.names(prefix)) {
    const size_t dot = std::min(name.find('.', prefix.size()), name.size());
    const std::string number = name.substr(prefix.size(), dot - prefix.size());
    const bool plain = !number.empty() && number.size() <= 6 && number.find_first_not_of("0123456789") == number.npos &&
                       (number.size() == 1 || number[0] != '0');
    if (!plain || std::stoul(number) >= most)
      fail("the tensor's name ", quote(name), " needs the number of its ", what, ", 0 to ", most - 1, ", after ",
           prefix);
    const auto index = static_cast<uint32_t>(std::stoul(number));
    count = std::max(count, index + 1);
    if (present.size() < count) present.resize(count);
    present[index] = present[index] || dot < name.size();
  }
  if (count == 0) fail("there are no tensors called ", prefix, "*: the checkpoint is incomplete");
  for (uint32_t i = 0; i < count; ++i) {
    if (!present[i]) fail(what, " ", i, " of ", count, " has no tensors: the checkpoint is incomplete");
  }
  return count;
}

float usual_scale(uint32_t head_dim) { return 1.f / std::sqrt(static_cast<float>(head_dim)); }

Tensor transposed(const Tensor& matrix) { return permuted(matrix, {1, 0}); }

Tensor first_columns(const Tensor& matrix, uint64_t count) {
  return transposed(slice_rows(transposed(matrix), 0, count));
}

Tensor packed_part(const Tensor& packed, size_t i, uint64_t rows) {
  Tensor part = slice_rows(packed, i * rows, rows);
  part.name += std::string("/") + packed_roles[i];
  return part;
}

Linear read_linear(Conversion& conversion, TensorTable& tensors, const std::string& role, const std::string& name,
                   Size out, Size in) {
  const Tensor& weight = tensors.need(name + ".weight");
  return conversion.weights.linear(role, weight, &tensors.need(name + ".bias"), out, in);
}

Linear read_linear_maybe_bias(Conversion& conversion, TensorTable& tensors, const std::string& role,
                              const std::string& name, Size out, Size in) {
  const Tensor& weight = tensors.need(name + ".weight");
  return conversion.weights.linear(role, weight, tensors.use(name + ".bias"), out, in);
}

Norm read_norm(Conversion& conversion, TensorTable& tensors, const std::string& role, const std::string& name,
               Size width) {
  const Tensor& scale = tensors.need(name + ".weight");
  return conversion.weights.norm(role, scale, &tensors.need(name + ".bias"), width);
}

Norm read_norm_maybe_bias(Conversion& conversion, TensorTable& tensors, const std::string& role,
                          const std::string& name, Size width) {
  const Tensor& scale = tensors.need(name + ".weight");
  return conversion.weights.norm(role, scale, tensors.use(name + ".bias"), width);
}

float number_below(const Settings& settings, const char* name, float limit, float usual, Report& report) {
  const std::optional<Setting<Value>> said = settings.value(name);
  std::ostringstream text;
  if (!said) {
    text << usual;
    report.add_fact(name, text.str(), "transformers' default: no settings say otherwise");
    report.notes.push_back(std::string(name) + " is not in the settings: transformers' default " + text.str() +
                           " is assumed.");
    return usual;
  }
  const std::optional<double> number = said->value.real();
  const float value = number ? static_cast<float>(*number) : 0;
  if (!(value > 0) || !(value < limit)) {
    fail("the setting ", name, " (", said->source, ") is not a number between 0 and ", limit);
  }
  text << *number;
  report.add_fact(name, text.str(), std::string(name) + ", " + said->source);
  return value;
}

uint32_t ProjectionTable::add(const std::string& role, const Tensor& matrix, const Tensor* bias) {
  const TensorIndex weight = weights_.projection(role, matrix, {{0, "k"}, {encoder_.max_tokens, "N"}});
  const uint32_t k = dimension(matrix, 0);
  const TensorIndex bias_index = bias ? weights_.floats(role + ".bias", *bias, {{k, "k"}}) : absent;
  const auto [place, added] =
      known_.emplace(std::pair(weight, bias_index), static_cast<uint32_t>(encoder_.projections.size()));
  if (added) {
    Projection& made = encoder_.projections.emplace_back();
    made.kind = ProjectionKind::linear;
    made.order = order_;
    made.k = k;
    made.weight = weight;
    made.bias = bias_index;
    made.length_scale = length_scale_;
  }
  ++uses_;
  return place->second;
}

void ProjectionTable::report(Report& report) const {
  report.add_fact("projections",
                  std::to_string(encoder_.projections.size()) + " distinct for " + std::to_string(uses_) + " uses",
                  "values");
}

std::vector<uint32_t> collapse_equal_projections(std::vector<uint32_t> projections) {
  const bool one = std::all_of(projections.begin(), projections.end(),
                               [&](uint32_t projection) { return projection == projections[0]; });
  if (one) projections.resize(1);
  return projections;
}

void check_same_k(const EncoderDescription& encoder, const AttentionDescription& attention, size_t layer) {
  if (attention.value_projections.empty()) return;
  const uint32_t keys = encoder.projections[attention.key_projections[0]].k;
  const uint32_t values = encoder.projections[attention.value_projections[0]].k;
  if (keys != values)
    fail("layer ", layer, " compresses keys to ", keys, " positions and values to ", values, ": these must be equal");
}

}  // namespace linformer::convert
