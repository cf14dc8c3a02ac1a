#include "converter/dialects/tatp22/settings.h"

#include <algorithm>
#include <array>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/readers/error.h"

namespace linformer::convert::tatp22 {

namespace {

// The arguments of LinformerLM and Linformer. If the settings have any of them, the others have the constructor's
// defaults.
constexpr std::array names = {"num_tokens",
                              "input_size",
                              "channels",
                              "dim_k",
                              "dim_ff",
                              "dim_d",
                              "nhead",
                              "depth",
                              "activation",
                              "method",
                              "parameter_sharing",
                              "k_reduce_by_layer",
                              "full_attention",
                              "include_ff",
                              "convolution",
                              "w_o_intermediate_dim",
                              "emb_dim",
                              "return_emb",
                              "causal",
                              "decoder_mode",
                              "ff_intermediate"};

bool any_given(const Settings& settings, Part part) {
  return settings.has("activation") || std::any_of(names.begin(), names.end(), [&](const char* name) {
           return settings.has(setting_name(part, name));
         });
}

void check_given(const Settings& settings, Part part) {
  if (any_given(settings, part)) return;
  const char* line = part == Part::model
                         ? R"({"activation": "gelu", "full_attention": false, "causal": false, "decoder_mode": false})"
                         : R"({"activation": "gelu", "enc_full_attention": false, "dec_full_attention": false})";
  fail(
      "the model's activation and its kind of attention are neither in the checkpoint nor visible in its tensors: give "
      "those that it was made with; for linformer-pytorch's defaults that is ",
      config_option(line));
}

void note_default(Report& report, const std::string& name, const char* value) {
  report.add_fact(name, value, "linformer-pytorch's default: the other settings leave it out");
  report.notes.push_back(name + " is not in the settings: linformer-pytorch's default " + value +
                         " is taken. Give it with " + placeholder(Option::config) +
                         " if the model was made with another.");
}

bool flag_of(const Settings& settings, const std::string& name, Report& report) {
  const std::optional<Setting<bool>> said = settings.flag(name);
  if (!said) {
    note_default(report, name, "false");
    return false;
  }
  report.add_fact(name, said->value ? "true" : "false", name + ", " + said->source);
  return said->value;
}

// Returns the activation. A LinformerEncDec has one activation for encoder and decoder, so it is reported once.
Activation activation_of(const Settings& settings, Part part, Report& report) {
  constexpr const char* name = "activation";
  const std::optional<Setting<std::string>> said = settings.text(name);
  if (!said) {
    if (part != Part::decoder) note_default(report, name, "gelu");
    return Activation::gelu;
  }
  if (said->value != "gelu" && said->value != "relu") {
    fail("the setting ", name, " is ", quote(said->value), " (", said->source,
         "); linformer-pytorch knows gelu and relu");
  }
  if (part != Part::decoder) report.add_fact(name, said->value, std::string(name) + ", " + said->source);
  return said->value == "gelu" ? Activation::gelu : Activation::relu;
}

}  // namespace

std::string setting_name(Part part, const std::string& name) {
  return (part == Part::model ? "" : part == Part::encoder ? "enc_" : "dec_") + name;
}

Arguments arguments_of(const Settings& settings, Part part, Report& report) {
  check_given(settings, part);
  Arguments arguments;
  arguments.activation = activation_of(settings, part, report);
  arguments.full_attention = flag_of(settings, setting_name(part, "full_attention"), report);
  if (part == Part::model) {
    arguments.causal = flag_of(settings, "causal", report);
    arguments.decoder_mode = flag_of(settings, "decoder_mode", report);
  } else {
    // In LinformerEncDec these arguments are fixed.
    arguments.causal = arguments.decoder_mode = part == Part::decoder;
  }
  return arguments;
}

uint32_t input_size_of(const Settings& settings, Part part, const char* why) {
  const std::string name = setting_name(part, "input_size");
  const std::optional<Setting<int64_t>> said = settings.integer(name);
  if (!said) {
    fail("the length of the model's texts is not visible in its tensors, because ", why,
         ": give the length that it was made with, ", config_option("{\"" + name + "\": NUMBER}"));
  }
  if (said->value < 1 || said->value > int64_t{max_dimension}) {
    fail("the setting ", name, " is ", said->value, " (", said->source, "): 1 to ", max_dimension, " are possible");
  }
  return static_cast<uint32_t>(said->value);
}

}  // namespace linformer::convert::tatp22
