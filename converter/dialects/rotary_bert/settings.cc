#include "converter/dialects/rotary_bert/settings.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert::rotary_bert {

namespace {

constexpr float largest_base = 1e12f;

std::string shown(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

float number_of(const Value& value, const std::string& name, const std::string& source, float limit) {
  const std::optional<double> number = value.real();
  const float made = number ? static_cast<float>(*number) : 0;
  if (!(made > 0) || !(made < limit)) {
    fail("the setting ", name, " (", source, ") is not a number between 0 and ", limit);
  }
  return made;
}

void refuse_true(const Settings& settings, const char* name, const char* reason) {
  const std::optional<Setting<bool>> said = settings.flag(name);
  if (said && said->value) fail("the setting ", name, " is true (", said->source, "): ", reason);
}

}  // namespace

const char* name_in_settings(const Settings& settings, const char* transformers_name, const char* own_name) {
  return !settings.has(transformers_name) && settings.has(own_name) ? own_name : transformers_name;
}

void refuse_unsupported(const Settings& settings) {
  hugging_face::refuse_quantised(settings);
  refuse_true(settings, "is_decoder", "models that hide later tokens from earlier ones are not supported");
  refuse_true(settings, "causal", "models that hide later tokens from earlier ones are not supported");
  refuse_true(settings, "prenorm", "layers with their norms in front are not supported");
  refuse_true(settings, "use_rms_norm", "only LayerNorm is supported");
  refuse_true(settings, "parallel_block",
              "layers whose attention and feed-forward network have the same input are not supported");
  refuse_true(settings, "rotary_emb_interleaved", "only pairs of channels that are half a head apart are supported");
  refuse_true(settings, "logn_attention_scale", "scores that are scaled by the text's length are not supported");
  const std::optional<Setting<std::string>> norm = settings.text("layer_norm_type");
  if (norm && norm->value != "layer_norm") {
    fail("the setting layer_norm_type is ", quote(norm->value), " (", norm->source, "): only layer_norm is supported");
  }
  for (const char* name : {"moe_every_n_layers", "num_experts"}) {
    const std::optional<Setting<int64_t>> experts = settings.integer(name);
    if (experts && experts->value != 0) {
      fail("the setting ", name, " is ", experts->value, " (", experts->source,
           "): feed-forward networks of several experts are not supported");
    }
  }
  const std::optional<Setting<Value>> share = settings.value("rotary_emb_fraction");
  if (share && share->value.real().value_or(0) != 1) {
    fail("the setting rotary_emb_fraction (", share->source, ") is not 1: heads that are rotated in part are not ",
         "supported");
  }
  const std::optional<Setting<std::string>> positions = settings.text("position_embedding_type");
  if (positions && positions->value != "rope") {
    fail("the setting position_embedding_type is ", quote(positions->value), " (", positions->source,
         "): only rope is supported for these models");
  }
}

RotaryRule rotary_rule(const Settings& settings, uint32_t head_dim, float usual, Report& report) {
  RotaryRule rule{usual, 1};
  std::string source = "transformers' default: no settings say otherwise";
  const std::optional<Setting<Value>> parameters = settings.value("rope_parameters");
  const char* const name = name_in_settings(settings, "rope_theta", "rotary_emb_base");
  if (parameters) {
    const Value kind = parameters->value.find("rope_type"), theta = parameters->value.find("rope_theta");
    if (!kind.is(ValueKind::null) && kind.text() != "default") {
      fail("the setting rope_parameters.rope_type (", parameters->source, ") is ", quote(std::string(kind.text())),
           ": only default is supported");
    }
    if (!theta.is(ValueKind::null)) {
      rule.base = number_of(theta, "rope_parameters.rope_theta", parameters->source, largest_base);
      source = "rope_parameters, " + parameters->source;
    }
  } else if (const std::optional<Setting<Value>> theta = settings.value(name)) {
    rule.base = number_of(theta->value, name, theta->source, largest_base);
    source = std::string(name) + ", " + theta->source;
  }
  if (const std::optional<Setting<Value>> scaling = settings.value("rope_scaling")) {
    const Value kind = scaling->value.find("type"), factor = scaling->value.find("factor");
    if (kind.text() != "ntk" || !scaling->value.find("mixed_b").is(ValueKind::null)) {
      fail("the setting rope_scaling (", scaling->source, ") is not of the type ntk, which alone is supported");
    }
    // The models' own code multiplies the base by the factor, and divides each frequency by factor^(2 / head_dim).
    const float by = number_of(factor, "rope_scaling.factor", scaling->source, largest_base);
    rule.base *= by;
    rule.scale = static_cast<float>(std::pow(static_cast<double>(by), -2. / head_dim));
    source += "; rope_scaling, " + scaling->source;
  }
  report.add_fact("rotary base",
                  shown(static_cast<double>(rule.base)) +
                      (rule.scale == 1 ? "" : ", positions times " + shown(static_cast<double>(rule.scale))),
                  source);
  return rule;
}

Activation gate_activation(const Settings& settings, Activation usual, Report& report) {
  static constexpr std::pair<std::string_view, Activation> own[] = {
      {"swiglu", Activation::silu}, {"geglu", Activation::gelu}, {"glu", Activation::sigmoid}};
  const std::optional<Setting<std::string>> said = settings.text("activation_function");
  if (!settings.has("hidden_act") && said) {
    const auto* known =
        std::find_if(std::begin(own), std::end(own), [&](const auto& one) { return one.first == said->value; });
    if (known == std::end(own)) {
      fail("the setting activation_function is ", quote(said->value), " (", said->source,
           "); swiglu, geglu and glu are supported");
    }
    report.add_fact("activation_function", name_of(known->second), "activation_function, " + said->source);
    return known->second;
  }
  const std::optional<Setting<std::string>> native = settings.text("hidden_act");
  if (!native) {
    report.add_fact("hidden_act", name_of(usual), "transformers' default: no settings say otherwise");
    return usual;
  }
  if (native->value == "silu" || native->value == "swish") {
    report.add_fact("hidden_act", name_of(Activation::silu), "hidden_act, " + native->source);
    return Activation::silu;
  }
  return hugging_face::activation_of(settings, "hidden_act", report);
}

uint32_t longest_text(const Settings& settings, int64_t usual, Report& report) {
  const char* const name = name_in_settings(settings, "max_position_embeddings", "n_positions");
  const std::optional<Setting<int64_t>> positions = settings.integer(name);
  int64_t most = positions ? positions->value : usual;
  std::string source = positions ? std::string(name) + ", " + positions->source
                                 : std::string("transformers' default: no settings say otherwise");
  // For texts longer than max_trained_positions, the model's own code changes the frequencies with the text's length.
  const std::optional<Setting<Value>> dynamic = settings.value("rotary_scaling_factor");
  const std::optional<Setting<int64_t>> trained = settings.integer("max_trained_positions");
  if (dynamic && trained && trained->value < most) {
    most = trained->value;
    source = "max_trained_positions, " + trained->source;
    report.notes.push_back("Texts are cut to the " + std::to_string(most) +
                           " tokens that the model was trained with: for longer ones its own code scales rotary "
                           "positions by the text's length, which is not supported.");
  }
  if (most < 1 || most > int64_t{max_dimension}) {
    fail("the setting ", name, " is ", most, "; 1 to ", max_dimension, " are possible");
  }
  const std::optional<Setting<int64_t>> cut = settings.integer("max_seq_length");
  if (cut && cut->value < 1) fail("the setting max_seq_length is ", cut->value, " (", cut->source, "); give 1 or more");
  if (cut && cut->value < most) {
    most = cut->value;
    source = "max_seq_length, " + cut->source;
  }
  report.add_fact("longest text (N)", std::to_string(most), source);
  return static_cast<uint32_t>(most);
}

}  // namespace linformer::convert::rotary_bert
