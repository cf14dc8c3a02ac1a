#include "converter/dialects/fairseq/jargon.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/fairseq/port.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

constexpr LayerPart parts[] = {
    {"attention.q_proj", &AttentionDescription::query},     {"attention.k_proj", &AttentionDescription::key},
    {"attention.v_proj", &AttentionDescription::value},     {"attention.out_proj", &AttentionDescription::output},
    {"intermediate.dense", &LayerDescription::ffn_in},      {"output.dense", &LayerDescription::ffn_out},
    {"attn_layer_norm", &LayerDescription::attention_norm}, {"final_layer_norm", &LayerDescription::ffn_norm},
};

const hugging_face::Family& family() {
  static const hugging_face::Family made = [] {
    hugging_face::Family jargon = hugging_face::roberta();
    jargon.name = "Jargon";
    jargon.parts = parts;
    // Jargon reads the width and the numbers of layers and heads from embed_dim, num_layers and
    // encoder_attention_heads. It ignores hidden_size, num_hidden_layers and num_attention_heads of RobertaConfig.
    jargon.settings = {"embed_dim", "num_layers", "encoder_attention_heads", "intermediate_size", "hidden_act"};
    jargon.extras.embedding_norm = false;
    return jargon;
  }();
  return made;
}

const fairseq::Port& port() {
  static constexpr const char* norm = "the model's classes create this norm and never apply it";
  static constexpr NamePattern unused[] = {
      {"embeddings.LayerNorm.*", norm},
      {"encoder.layer.*.output.LayerNorm.*", norm},
      {"sbo_head.**", "a head for pretraining, which predicts the tokens between two others"},
  };
  static const fairseq::Port made = {family(), "attention.", "attention.q_proj", "a Jargon model", unused, 1e-5f};
  return made;
}

void refuse_others(const Settings& settings) {
  hugging_face::refuse_quantised(settings);
  // JargonConfig calls the table of positions "learned", and RobertaConfig calls the same table "absolute".
  const std::optional<Setting<std::string>> positions = settings.text("position_embedding_type");
  const bool absolute = !positions || positions->value == "learned" || positions->value == "absolute";
  hugging_face::refuse_unsupported(settings, absolute && positions ? std::string_view(positions->value) : "learned");
  const std::optional<Setting<bool>> norm = settings.flag("layernorm_embedding");
  if (norm && norm->value) {
    fail("the setting layernorm_embedding is true (", norm->source,
         "): Jargon's published classes apply no norm to the embedding, whatever this setting is, so nobody can know "
         "with which code the model was trained. If it was trained with those classes, convert with ",
         config_option(R"({"layernorm_embedding": false})"));
  }
  for (const char* name : {"add_bias_kv", "add_zero_attn"}) {
    const std::optional<Setting<bool>> said = settings.flag(name);
    if (said && said->value) fail("the setting ", name, " is true (", said->source, "), which is not supported");
  }
  if (!settings.has("hidden_act")) {
    missing_setting("the activation of the feed-forward networks",
                    "the model's config.json, or " + config_option(R"({"hidden_act": "relu"})") + " or another");
  }
}

}  // namespace

DialectFacts Jargon::facts() const {
  return {"Jargon: fairseq's Linformer layers between RoBERTa's embedding and heads, in French",
          "https://github.com/PantagrueLLM/Jargon",
          {{R"({"encoder_attention_heads": 12, "hidden_act": "relu"})",
            "always; config.json of the model's folder has them"}}};
}

Recognition Jargon::recognise(const Checkpoint& checkpoint) const {
  return fairseq::recognise_port(checkpoint, port());
}

void Jargon::convert(Conversion& conversion) const {
  const Settings settings = user_and_checkpoint_settings(conversion);
  refuse_others(settings);
  fairseq::convert_port(conversion, port());
  const EncoderDescription& encoder = conversion.description.encoder;
  const std::optional<Setting<int64_t>> ratio = settings.integer("compressed");
  const uint32_t k = encoder.projections[0].k;
  const std::optional<Setting<int64_t>> positions = settings.integer("max_positions");
  if (ratio && positions && (ratio->value < 1 || positions->value / ratio->value != int64_t{k})) {
    fail("the settings max_positions ", positions->value, " and compressed ", ratio->value, " (", ratio->source,
         ") do not give the ", k, " rows of the tensors' projections: the settings belong to another model");
  }
}

}  // namespace linformer::convert
