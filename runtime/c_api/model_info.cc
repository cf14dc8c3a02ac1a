// The C functions that describe a model.
#include "c_api/handles.h"

using namespace linformer;
using namespace linformer::c_api;

static_assert(LNF_PART_DECODER == static_cast<int>(Part::decoder));
static_assert(LNF_POOL_MAX == static_cast<int>(Pooling::max) &&
              LNF_POOL_WEIGHTED_MEAN == static_cast<int>(Pooling::weighted_mean));
static_assert(LNF_FIRST_TEXT == TokenizerInfo::first_text && LNF_SECOND_TEXT == TokenizerInfo::second_text);

namespace {

Status check_index(const char* what, int32_t index, int count) {
  if (index >= 0 && index < count) return {};
  return Status::error(Code::invalid_argument, "there is no %s %d: the model has %d", what, static_cast<int>(index),
                       count);
}

Status check_part(const lnf_model* model, int32_t part) {
  if (model == nullptr) return missing("the model");
  const int parts = model->model->info().has_decoder ? LNF_PART_DECODER + 1 : LNF_PART_ENCODER + 1;
  return check_index("part", part, parts);
}

}  // namespace

lnf_code lnf_model_get_encoder(const lnf_model* model, int32_t part, lnf_encoder_info* info, lnf_status* status) {
  if (const Status checked = check_part(model, part); !checked.ok()) return report(checked, status);
  const EncoderInfo of = model->model->encoder(static_cast<Part>(part));
  lnf_encoder_info made = {};
  made.max_tokens = of.max_tokens;
  made.vocabulary = of.vocabulary;
  made.width = of.width;
  made.output_width = of.output_width;
  made.encoder_states_width = of.encoder_states_width;
  made.pad_id = of.pad_id;
  made.layers = of.layers;
  made.projections = of.projections;
  made.final_norm = of.final_norm;
  made.output_linear = of.output_linear;
  made.zero_masked_rows = of.zero_masked_rows;
  made.norm = of.norm;
  made.residual = of.residual;
  return report(write_struct(made, "lnf_encoder_info", info), status);
}

lnf_code lnf_model_get_embedding(const lnf_model* model, int32_t part, lnf_embedding_info* info, lnf_status* status) {
  if (const Status checked = check_part(model, part); !checked.ok()) return report(checked, status);
  const EmbeddingInfo of = model->model->encoder(static_cast<Part>(part)).embedding;
  lnf_embedding_info made = {};
  made.vector_width = of.vector_width;
  made.vector_linear_width = of.vector_linear_width;
  made.position_offset = of.position_offset;
  made.token_types = of.token_types;
  made.factor_width = of.factor_width;
  made.reads_tokens = of.reads_tokens;
  made.vector_norm_in = of.vector_norm_in;
  made.vector_norm_out = of.vector_norm_out;
  made.prefix_token = of.prefix_token;
  made.positions_count_non_pad = of.positions_count_non_pad;
  made.norm = of.norm;
  made.norm_before_factor = of.norm_before_factor;
  made.transform = of.transform;
  made.prefix = of.prefix;
  made.positions = of.positions;
  return report(write_struct(made, "lnf_embedding_info", info), status);
}

lnf_code lnf_model_get_layer(const lnf_model* model, int32_t part, int32_t layer, lnf_layer_info* info,
                             lnf_status* status) {
  if (const Status checked = check_part(model, part); !checked.ok()) return report(checked, status);
  const Part of_part = static_cast<Part>(part);
  const Status checked = check_index("layer", layer, model->model->encoder(of_part).layers);
  if (!checked.ok()) return report(checked, status);
  const LayerInfo of = model->model->layer(layer, of_part);
  lnf_layer_info made = {};
  made.heads = of.heads;
  made.kv_heads = of.kv_heads;
  made.head_dim = of.head_dim;
  made.window = of.window;
  made.width = of.width;
  made.ffn_width = of.ffn_width;
  made.key_projections = of.key_projections.data();
  made.value_projections = of.value_projections.data();
  made.key_projection_count = of.key_projections.size();
  made.value_projection_count = of.value_projections.size();
  made.scale = of.scale;
  made.rotary_base = of.rotary_base;
  made.rotary_scale = of.rotary_scale;
  made.value_is_key = of.value_is_key;
  made.causal = of.causal;
  made.position_bias = of.position_bias;
  made.full_attention = of.full_attention;
  made.gated = of.gated;
  made.query_key_norms = of.query_key_norms;
  made.outer_norm = of.outer_norm;
  made.norm_kind = of.norm_kind;
  made.key_source = of.key_source;
  made.row_mask = of.row_mask;
  made.output_activation = of.output_activation;
  made.activation = of.activation;
  return report(write_struct(made, "lnf_layer_info", info), status);
}

lnf_code lnf_model_get_projection(const lnf_model* model, int32_t part, int32_t projection, lnf_projection_info* info,
                                  lnf_status* status) {
  if (const Status checked = check_part(model, part); !checked.ok()) return report(checked, status);
  const Part of_part = static_cast<Part>(part);
  const Status checked = check_index("projection", projection, model->model->encoder(of_part).projections);
  if (!checked.ok()) return report(checked, status);
  const ProjectionInfo of = model->model->projection(projection, of_part);
  lnf_projection_info made = {};
  made.k = of.k;
  made.kernel = of.kernel;
  made.stride = of.stride;
  made.weight = of.weight;
  made.bias = of.bias;
  made.kind = of.kind;
  made.order = of.order;
  made.length_scale = of.length_scale;
  made.span = of.span;
  made.exact_tokens = of.exact_tokens.data();
  made.exact_token_count = static_cast<int64_t>(of.exact_tokens.size());
  return report(write_struct(made, "lnf_projection_info", info), status);
}

lnf_code lnf_model_get_masked_lm(const lnf_model* model, lnf_masked_lm_info* info, lnf_status* status) {
  if (model == nullptr) return report(missing("the model"), status);
  const MaskedLmInfo of = model->model->masked_lm();
  lnf_masked_lm_info made = {};
  made.present = of.present;
  made.tied = of.tied;
  made.dense = of.dense;
  made.norm = of.norm;
  made.activation = of.activation;
  return report(write_struct(made, "lnf_masked_lm_info", info), status);
}

lnf_code lnf_model_get_sentence_embedding(const lnf_model* model, lnf_sentence_embedding_info* info,
                                          lnf_status* status) {
  if (model == nullptr) return report(missing("the model"), status);
  const SentenceEmbeddingInfo of = model->model->sentence_embedding();
  lnf_sentence_embedding_info made = {};
  made.linear_width = of.linear_width;
  made.present = of.present;
  made.pooling = pooling_constant(of.pooling);
  made.norm = of.norm;
  made.normalize = of.normalize;
  made.activation = of.activation;
  made.prompts = of.prompts;
  made.default_prompt = of.default_prompt;
  made.excludes_prompt = of.excludes_prompt;
  made.characters_per_token = of.characters_per_token;
  return report(write_struct(made, "lnf_sentence_embedding_info", info), status);
}

lnf_code lnf_model_get_prompt(const lnf_model* model, int32_t prompt, lnf_prompt_info* info, lnf_status* status) {
  if (model == nullptr) return report(missing("the model"), status);
  const Status checked = check_index("prompt", prompt, model->model->sentence_embedding().prompts);
  if (!checked.ok()) return report(checked, status);
  const PromptInfo of = model->model->prompt(prompt);
  lnf_prompt_info made = {};
  made.name = of.name.data();
  made.text = of.text.data();
  return report(write_struct(made, "lnf_prompt_info", info), status);
}

lnf_code lnf_model_get_tokenizer(const lnf_model* model, lnf_tokenizer_info* info, lnf_status* status) {
  if (model == nullptr) return report(missing("the model"), status);
  const TokenizerInfo of = model->model->tokenizer();
  lnf_tokenizer_info made = {};
  made.tokens = of.tokens;
  made.merges = of.merges;
  made.added_tokens = of.added_tokens;
  made.single_template = of.single_template.data();
  made.pair_template = of.pair_template.data();
  made.pair_types = of.pair_types.data();
  made.single_template_count = of.single_template.size();
  made.pair_template_count = of.pair_template.size();
  made.pair_type_count = of.pair_types.size();
  made.kind = static_cast<int32_t>(of.kind);
  made.unk_id = of.unk_id;
  made.bos_id = of.bos_id;
  made.eos_id = of.eos_id;
  made.pad_id = of.pad_id;
  made.mask_id = of.mask_id;
  made.lowercase = of.lowercase;
  made.strip_accents = of.strip_accents;
  return report(write_struct(made, "lnf_tokenizer_info", info), status);
}

lnf_code lnf_model_get_tensor(const lnf_model* model, int32_t tensor, lnf_tensor_info* info, lnf_status* status) {
  if (model == nullptr) return report(missing("the model"), status);
  const Status checked = check_index("tensor", tensor, model->model->info().tensors);
  if (!checked.ok()) return report(checked, status);
  const TensorInfo of = model->model->tensor(tensor);
  lnf_tensor_info made = {};
  made.name = of.name.data();
  made.type = name_of(of.type);
  made.layout = of.layout;
  made.shape = of.shape.data();
  made.dimensions = of.shape.size();
  made.offset = of.offset;
  made.bytes = of.bytes;
  made.checksum = of.checksum;
  return report(write_struct(made, "lnf_tensor_info", info), status);
}
