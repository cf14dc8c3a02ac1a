#include "converter/dialects/modernbert/settings.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert::modernbert {

namespace {

constexpr float usual_global_base = 160000, usual_local_base = 10000;
constexpr int64_t usual_window = 128, usual_positions = 8192, usual_step = 3;
constexpr float largest_base = 1e12f;

std::string base_text(float base) {
  std::ostringstream text;
  text << base;
  return text.str();
}

// Returns a base of rotary positions that transformers 4 writes as the setting `name`, or `usual` if the setting is
// absent or null.
float base_of(const Settings& settings, const char* name, float usual, std::string* source) {
  const std::optional<Setting<Value>> said = settings.value(name);
  if (!said) return usual;
  const std::optional<double> number = said->value.real();
  const float base = number ? static_cast<float>(*number) : 0;
  if (!(base > 0) || !(base < largest_base)) {
    fail("the setting ", name, " (", said->source, ") is not a number between 0 and ", largest_base);
  }
  *source = std::string(name) + ", " + said->source;
  return base;
}

// Returns a base of rotary positions that transformers 5 writes as rope_parameters.TYPE.rope_theta, or `otherwise` if
// that is absent.
float base_of_type(const Setting<Value>& parameters, const char* type, float otherwise, std::string* source) {
  const Value part = parameters.value.find(type);
  if (part.is(ValueKind::null)) return otherwise;
  const std::string place = std::string("rope_parameters.") + type;
  const Value kind = part.find("rope_type");
  if (!kind.is(ValueKind::null) && kind.text() != "default") {
    fail("the setting ", place, ".rope_type (", parameters.source, ") is ", quote(std::string(kind.text())),
         ": only unscaled rotary positions (default) are supported");
  }
  const Value theta = part.find("rope_theta");
  if (theta.is(ValueKind::null)) return otherwise;
  const std::optional<double> number = theta.real();
  const float base = number ? static_cast<float>(*number) : 0;
  if (!(base > 0) || !(base < largest_base)) {
    fail("the setting ", place, ".rope_theta (", parameters.source, ") is not a number between 0 and ", largest_base);
  }
  *source = place + ", " + parameters.source;
  return base;
}

// Returns for each layer whether it attends within a window.
std::vector<bool> sliding_layers(const Settings& settings, uint32_t layers, std::string* source) {
  std::vector<bool> sliding(layers);
  if (const std::optional<Setting<Value>> types = settings.value("layer_types")) {
    const std::vector<Value>& items = types->value.items();
    if (!types->value.is(ValueKind::list) || items.size() != layers) {
      fail("the setting layer_types (", types->source, ") is not a list of ", layers, " texts, one for each layer");
    }
    for (uint32_t i = 0; i < layers; ++i) {
      sliding[i] = items[i].text() == "sliding_attention";
      if (!sliding[i] && items[i].text() != "full_attention") {
        fail("the setting layer_types (", types->source, ") has ", quote(std::string(items[i].text())), " for layer ",
             i, "; full_attention and sliding_attention are supported");
      }
    }
    *source = "layer_types, " + types->source;
    return sliding;
  }
  const std::optional<Setting<int64_t>> step = settings.integer("global_attn_every_n_layers");
  if (step && (step->value < 1 || step->value > int64_t{max_layers})) {
    fail("the setting global_attn_every_n_layers is ", step->value, " (", step->source, "); 1 to ", max_layers,
         " are possible");
  }
  const auto every = static_cast<uint32_t>(step ? step->value : usual_step);
  for (uint32_t i = 0; i < layers; ++i) sliding[i] = i % every != 0;
  *source = step ? "global_attn_every_n_layers, " + step->source : "transformers' default: no settings say otherwise";
  return sliding;
}

// Returns the number of rows that a row of a windowed layer sees on each side of it.
uint32_t window_of(const Settings& settings, std::string* source) {
  const std::optional<Setting<int64_t>> said = settings.integer("local_attention");
  if (said && (said->value < 2 || said->value > 2 * int64_t{max_dimension})) {
    fail("the setting local_attention is ", said->value, " (", said->source, "): a row sees half of it on each side, ",
         "which must be at least 1 row, so 2 to ", 2 * int64_t{max_dimension}, " are possible");
  }
  *source = said ? "local_attention, " + said->source : "transformers' default: no settings say otherwise";
  return static_cast<uint32_t>((said ? said->value : usual_window) / 2);
}

}  // namespace

std::vector<LayerRule> layer_attention_rules(const Settings& settings, uint32_t layers, uint32_t head_dim,
                                             Report& report) {
  if (const std::optional<Setting<Value>> scaling = settings.value("rope_scaling")) {
    fail("the setting rope_scaling (", scaling->source,
         ") is not supported for ModernBERT: its rotary positions must be unscaled");
  }
  std::string global_source = "transformers' default: no settings say otherwise", local_source = global_source;
  float global = usual_global_base, local = usual_local_base;
  if (const std::optional<Setting<Value>> parameters = settings.value("rope_parameters")) {
    if (!parameters->value.is(ValueKind::dict)) {
      fail("the setting rope_parameters (", parameters->source, ") is not an object with full_attention and ",
           "sliding_attention");
    }
    global = base_of_type(*parameters, "full_attention", global, &global_source);
    local = base_of_type(*parameters, "sliding_attention", local, &local_source);
  } else {
    global = base_of(settings, "global_rope_theta", global, &global_source);
    local = base_of(settings, "local_rope_theta", local, &local_source);
  }
  std::string layers_source, window_source;
  const std::vector<bool> sliding = sliding_layers(settings, layers, &layers_source);
  const uint32_t window = window_of(settings, &window_source);
  std::vector<LayerRule> rules(layers);
  for (uint32_t i = 0; i < layers; ++i) {
    rules[i] = sliding[i] ? LayerRule{local, window} : LayerRule{global, 0};
  }
  const auto in_window = std::count(sliding.begin(), sliding.end(), true);
  report.add_fact("attention",
                  "full, within a window in " + std::to_string(in_window) + " of " + std::to_string(layers) + " layers",
                  layers_source);
  report.add_fact("window", std::to_string(window) + " tokens on each side", window_source);
  report.add_fact("rotary base", base_text(global) + " (heads of " + std::to_string(head_dim) + ")", global_source);
  report.add_fact("rotary base in windows", base_text(local), local_source);
  return rules;
}

uint32_t longest_text(const Settings& settings, Report& report) {
  const std::optional<Setting<int64_t>> positions = settings.integer("max_position_embeddings");
  const std::optional<Setting<int64_t>> cut = settings.integer("max_seq_length");
  const int64_t most = positions ? positions->value : usual_positions;
  if (most < 1 || most > int64_t{max_dimension}) {
    fail("the setting max_position_embeddings is ", most, " (", positions->source, "); 1 to ", max_dimension,
         " are possible");
  }
  if (cut && (cut->value < 1 || cut->value > most)) {
    fail("the setting max_seq_length is ", cut->value, " (", cut->source, "): the model takes 1 to ", most, " tokens");
  }
  const int64_t longest = cut ? cut->value : most;
  report.add_fact("longest text (N)", std::to_string(longest),
                  cut         ? "max_seq_length, " + cut->source
                  : positions ? "max_position_embeddings, " + positions->source
                              : "transformers' default: no settings say otherwise");
  return static_cast<uint32_t>(longest);
}

HeadChoice head_choice(const Settings& settings) {
  const std::optional<std::string> architecture = hugging_face::architecture_suffix(settings);
  if (!architecture) {
    fail(
        "the tensors do not say whether the classifier labels texts or single tokens: give the model's config.json "
        "with ",
        placeholder(Option::config), ", or ",
        config_option(R"({"architectures": ["ModernBertForSequenceClassification"]})"), " or ",
        config_option(R"({"architectures": ["ModernBertForTokenClassification"]})"));
  }
  HeadChoice choice;
  choice.source = "architectures";
  if (*architecture == "ForTokenClassification" || *architecture == "ForQuestionAnswering") {
    choice.pooling = Pooling::none;
    choice.answers_questions = *architecture == "ForQuestionAnswering";
    return choice;
  }
  if (*architecture != "ForSequenceClassification" && *architecture != "ForMultipleChoice") {
    fail("the checkpoint has a classifier, but the setting architectures says ", quote(*architecture),
         "; ForSequenceClassification, ForTokenClassification, ForQuestionAnswering and ForMultipleChoice are "
         "supported");
  }
  const std::optional<Setting<std::string>> pooling = settings.text("classifier_pooling");
  choice.pooling_name = pooling ? pooling->value : "cls";
  choice.source = pooling ? "classifier_pooling, " + pooling->source : "transformers' default pooling";
  if (choice.pooling_name == "mean") {
    choice.pooling = Pooling::mean;
  } else if (choice.pooling_name != "cls") {
    fail("the setting classifier_pooling is ", quote(choice.pooling_name), " (", choice.source,
         "); cls and mean are supported");
  }
  return choice;
}

}  // namespace linformer::convert::modernbert
