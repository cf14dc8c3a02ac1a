#include "converter/dialects/hugging_face/names.h"

#include <string_view>

#include "base/description.h"

namespace linformer::convert::hugging_face {

namespace {

constexpr LayerPart bert_parts[] = {
    {"attention.self.query", &AttentionDescription::query},
    {"attention.self.key", &AttentionDescription::key},
    {"attention.self.value", &AttentionDescription::value},
    {"attention.output.dense", &AttentionDescription::output},
    {"intermediate.dense", &LayerDescription::ffn_in},
    {"output.dense", &LayerDescription::ffn_out},
    {"attention.output.LayerNorm", &LayerDescription::attention_norm},
    {"output.LayerNorm", &LayerDescription::ffn_norm},
};

constexpr LayerPart distilbert_parts[] = {
    {"attention.q_lin", &AttentionDescription::query},
    {"attention.k_lin", &AttentionDescription::key},
    {"attention.v_lin", &AttentionDescription::value},
    {"attention.out_lin", &AttentionDescription::output},
    {"ffn.lin1", &LayerDescription::ffn_in},
    {"ffn.lin2", &LayerDescription::ffn_out},
    {"sa_layer_norm", &LayerDescription::attention_norm},
    {"output_layer_norm", &LayerDescription::ffn_norm},
};

constexpr LayerPart mpnet_parts[] = {
    {"attention.attn.q", &AttentionDescription::query},         {"attention.attn.k", &AttentionDescription::key},
    {"attention.attn.v", &AttentionDescription::value},         {"attention.attn.o", &AttentionDescription::output},
    {"intermediate.dense", &LayerDescription::ffn_in},          {"output.dense", &LayerDescription::ffn_out},
    {"attention.LayerNorm", &LayerDescription::attention_norm}, {"output.LayerNorm", &LayerDescription::ffn_norm},
};

constexpr LayerPart albert_parts[] = {
    {"attention.query", &AttentionDescription::query},
    {"attention.key", &AttentionDescription::key},
    {"attention.value", &AttentionDescription::value},
    {"attention.dense", &AttentionDescription::output},
    {"ffn", &LayerDescription::ffn_in},
    {"ffn_output", &LayerDescription::ffn_out},
    {"attention.LayerNorm", &LayerDescription::attention_norm},
    {"full_layer_layer_norm", &LayerDescription::ffn_norm},
};

constexpr LayerPart jina_parts[] = {
    {"attention.self.query", &AttentionDescription::query},
    {"attention.self.key", &AttentionDescription::key},
    {"attention.self.value", &AttentionDescription::value},
    {"attention.output.dense", &AttentionDescription::output},
    {"mlp.gated_layers", &LayerDescription::ffn_in},
    {"mlp.wo", &LayerDescription::ffn_out},
    {"attention.output.LayerNorm", &LayerDescription::attention_norm},
    {"mlp.layernorm", &LayerDescription::ffn_norm},
};

constexpr LayerPart jina_code_parts[] = {
    {"attention.self.query", &AttentionDescription::query},
    {"attention.self.key", &AttentionDescription::key},
    {"attention.self.value", &AttentionDescription::value},
    {"attention.self.layer_norm_q", &AttentionDescription::query_norm},
    {"attention.self.layer_norm_k", &AttentionDescription::key_norm},
    {"attention.output.dense", &AttentionDescription::output},
    {"mlp.up_gated_layer", &LayerDescription::ffn_in},
    {"mlp.down_layer", &LayerDescription::ffn_out},
    {"attention.output.LayerNorm", &LayerDescription::attention_norm},
    {"layer_norm_1", &LayerDescription::outer_norm},
    {"layer_norm_2", &LayerDescription::ffn_norm},
};

constexpr SettingNames bert_settings = {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                                        "hidden_act"};
constexpr MaskedLmNames bert_masked_lm = {"cls.predictions.transform.dense",
                                          "cls.predictions.transform.LayerNorm",
                                          "cls.predictions.decoder.weight",
                                          {"cls.predictions.bias", "cls.predictions.decoder.bias"},
                                          "hidden_act"};

}  // namespace

const Family& bert() {
  static constexpr Family family = {"BERT", "bert.", "encoder.layer.", bert_parts, bert_masked_lm, bert_settings, true,
                                    false,  0};
  return family;
}

const Family& roberta() {
  static constexpr Family family = {"RoBERTa",
                                    "roberta.",
                                    "encoder.layer.",
                                    bert_parts,
                                    {"lm_head.dense",
                                     "lm_head.layer_norm",
                                     "lm_head.decoder.weight",
                                     {"lm_head.bias", "lm_head.decoder.bias"},
                                     nullptr},
                                    bert_settings,
                                    true,
                                    true,
                                    1};
  return family;
}

const Family& distilbert() {
  static constexpr Family family = {"DistilBERT",
                                    "distilbert.",
                                    "transformer.layer.",
                                    distilbert_parts,
                                    {"vocab_transform",
                                     "vocab_layer_norm",
                                     "vocab_projector.weight",
                                     {"vocab_projector.bias", nullptr},
                                     "activation"},
                                    {"dim", "n_layers", "n_heads", "hidden_dim", "activation"},
                                    false,
                                    false,
                                    0};
  return family;
}

const Family& mpnet() {
  static constexpr Family family = {"MPNet",
                                    "mpnet.",
                                    "encoder.layer.",
                                    mpnet_parts,
                                    {"lm_head.dense",
                                     "lm_head.layer_norm",
                                     "lm_head.decoder.weight",
                                     {"lm_head.bias", "lm_head.decoder.bias"},
                                     nullptr},
                                    bert_settings,
                                    false,
                                    true,
                                    1,
                                    {.relative_bias = "encoder.relative_attention_bias"}};
  return family;
}

const Family& electra() {
  static constexpr Family family = {"ELECTRA",
                                    "electra.",
                                    "encoder.layer.",
                                    bert_parts,
                                    {"generator_predictions.dense",
                                     "generator_predictions.LayerNorm",
                                     "generator_lm_head.weight",
                                     {"generator_lm_head.bias", nullptr},
                                     nullptr},
                                    bert_settings,
                                    true,
                                    false,
                                    0,
                                    {.factor = "embeddings_project", .classifier_activation = Activation::gelu}};
  return family;
}

const Family& albert() {
  static constexpr Family family = {
      "ALBERT",
      "albert.",
      "encoder.albert_layer_groups.",
      albert_parts,
      {"predictions.dense",
       "predictions.LayerNorm",
       "predictions.decoder.weight",
       {"predictions.bias", "predictions.decoder.bias"},
       "hidden_act"},
      bert_settings,
      true,
      false,
      0,
      {.factor = "encoder.embedding_hidden_mapping_in", .pooler = "pooler", .inner_layers = "albert_layers."}};
  return family;
}

const Family& roformer() {
  static constexpr Family family = {"RoFormer",
                                    "roformer.",
                                    "encoder.layer.",
                                    bert_parts,
                                    bert_masked_lm,
                                    bert_settings,
                                    true,
                                    false,
                                    0,
                                    {.factor = "embeddings_project",
                                     .classifier_activation = std::nullopt,
                                     .rotary_table = "encoder.embed_positions.weight"}};
  return family;
}

const Family& jina() {
  static constexpr Family family = {"JinaBERT",
                                    "bert.",
                                    "encoder.layer.",
                                    jina_parts,
                                    bert_masked_lm,
                                    bert_settings,
                                    true,
                                    false,
                                    0,
                                    {.gates = "mlp.gated_layers"}};
  return family;
}

// The code of jina-embeddings-v2-base-code: queries and keys have norms, the layer's input is added to the attention's
// normalised sum once more, and the second half of the gated network is activated.
const Family& jina_code() {
  static constexpr Family family = {"JinaBERT with norms of queries and keys",
                                    "bert.",
                                    "encoder.layer.",
                                    jina_code_parts,
                                    bert_masked_lm,
                                    bert_settings,
                                    true,
                                    false,
                                    0,
                                    {.gates = "mlp.up_gated_layer", .activates_second_half = true}};
  return family;
}

// transformers' pull request 10587, which was never merged.
const Family& linformer() {
  static constexpr Family family = {"Linformer",
                                    "linformer.",
                                    "encoder.layer.",
                                    bert_parts,
                                    bert_masked_lm,
                                    bert_settings,
                                    true,
                                    false,
                                    1,
                                    {.classifier_activation = std::nullopt}};
  return family;
}

std::span<const Family* const> families() {
  static const Family* const all[] = {&bert(),    &roberta(), &distilbert(), &mpnet(),
                                      &electra(), &albert(),  &roformer(),   &linformer()};
  return all;
}

std::string canonical_name(std::string name) {
  for (const Family* family : families()) {
    const std::string_view prefix = family->prefix;
    if (name.starts_with(prefix)) {
      name.erase(0, prefix.size());
      break;
    }
  }
  for (const auto& [old_part, new_part] :
       {std::pair<std::string_view, const char*>{"LayerNorm.gamma", "weight"}, {"LayerNorm.beta", "bias"}}) {
    if (name.ends_with(old_part)) name.replace(name.rfind('.') + 1, name.npos, new_part);
  }
  return name;
}

std::span<const NamePattern> unused_names() {
  static constexpr const char* counter = "numbers that count up, not weights";
  static constexpr NamePattern patterns[] = {
      {"embeddings.position_ids", counter},
      {"embeddings.token_type_ids", counter},
      {"pooler.dense.*", "none of the model's outputs reads the pooler"},
      {"pooler.*", "none of the model's outputs reads the pooler"},
  };
  return patterns;
}

}  // namespace linformer::convert::hugging_face
