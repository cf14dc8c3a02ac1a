#include "converter/dialects/fairseq/settings.h"

#include "converter/readers/error.h"

namespace linformer::convert::fairseq {

Settings settings_of(const Conversion& conversion) {
  Settings settings = conversion.user_settings;
  const Value root = conversion.checkpoint.root;
  settings.add_source(without_config_wrappers(without_config_wrappers(root.find("cfg")).find("model")),
                      "cfg.model of the checkpoint");
  settings.add_source(root.find("args"), "args of the checkpoint");
  return settings;
}

Activation activation_of(const Settings& settings, const char* name, Activation fallback, Report& report) {
  const std::optional<Setting<std::string>> said = settings.text(name);
  if (!said) {
    report.add_fact(name, name_of(fallback), "fairseq's default: no settings say otherwise");
    report.notes.push_back(std::string(name) + " is not in the settings: fairseq's default " + name_of(fallback) +
                           " is assumed. Give it with " + placeholder(Option::config) +
                           " if the model was trained with another.");
    return fallback;
  }
  static constexpr std::pair<std::string_view, Activation> names[] = {
      {"gelu", Activation::gelu},           {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh}, {"relu", Activation::relu},
      {"tanh", Activation::tanh},           {"linear", Activation::none}};
  for (const auto& [known, activation] : names) {
    if (said->value != known) continue;
    report.add_fact(name, name_of(activation), std::string(name) + ", " + said->source);
    return activation;
  }
  fail("the setting ", name, " is ", quote(said->value), " (", said->source,
       "); gelu, gelu_accurate, gelu_fast, relu, tanh and linear are supported");
}

std::optional<bool> shares_key_projection(const Settings& settings) {
  const std::optional<Setting<int64_t>> shared = settings.integer("shared_kv_compressed");
  if (!shared) return std::nullopt;
  if (shared->value != 0 && shared->value != 1) {
    fail("the setting shared_kv_compressed is ", shared->value, " (", shared->source,
         "): fairseq works with 0 and 1 only, so there is nothing to reproduce");
  }
  return shared->value == 1;
}

KindRule head_kind_of(const Settings& settings, uint64_t outputs) {
  // fairseq trains models with one output by one of two criteria: sentence_prediction with regression_target, a setting
  // that is most often saved with the task and not with the model, or sentence_ranking, which compares the outputs of
  // several texts.
  const std::optional<Setting<bool>> target = settings.flag("regression_target");
  if (target && target->value) return {HeadKind::regression, Activation::none, "regression_target, " + target->source};
  if (outputs == 1) return {HeadKind::regression, Activation::none, "one output: fairseq reads it as it is"};
  return usual_head_kind(outputs);
}

void refuse_unsupported(const Settings& settings) {
  const auto refuse = [&settings](const char* name, bool unsupported, const char* reason) {
    const std::optional<Setting<bool>> said = settings.flag(name);
    if (said && said->value == unsupported) {
      fail("the setting ", name, " is ", unsupported ? "true" : "false", " (", said->source, "): ", reason);
    }
  };
  refuse("encoder_learned_pos", false, "models with computed positions are not supported");
  refuse("no_token_positional_embeddings", true, "models without positions are not supported");
  refuse("no_scale_embedding", false, "models that scale the token embedding are not supported");
  refuse("adaptive_input", true, "models with adaptive embeddings are not supported");
  if (settings.has("encoder_layers_to_keep")) {
    fail(
        "the setting encoder_layers_to_keep is set, with which fairseq leaves out layers when it loads this file: load "
        "the file in fairseq, save it again and convert the new file");
  }
}

}  // namespace linformer::convert::fairseq
