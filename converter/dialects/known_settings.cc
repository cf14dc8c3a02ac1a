#include "converter/dialects/known_settings.h"

namespace linformer::convert {

namespace {

constexpr const char* names[] = {
    // fairseq and its port
    "activation_fn", "adaptive_input", "compressed", "encoder_attention_heads", "encoder_embed_dim",
    "encoder_ffn_embed_dim", "encoder_layers", "encoder_layers_to_keep", "encoder_learned_pos",
    "encoder_normalize_before", "layernorm_embedding", "max_positions", "no_scale_embedding",
    "no_token_positional_embeddings", "pooler_activation_fn", "regression_target", "shared_kv_compressed",
    "shared_layer_kv_compressed",
    // Jargon, transformers' pull request of Linformer, masked-linformer
    "add_bias_kv", "add_zero_attn", "embed_dim", "renorm", "seq_length", "share_projection",
    // Hugging Face, sentence-transformers
    "activation", "add_cross_attention", "architectures", "dim", "hidden_act", "hidden_dim", "embedding_size",
    "hidden_size", "id2label", "intermediate_size", "is_decoder", "layer_norm_eps", "max_position_embeddings",
    "max_seq_length", "model_type", "n_heads", "n_layers", "num_attention_heads", "num_hidden_layers", "pad_token_id",
    "position_embedding_type", "problem_type", "quantization_config", "sbert_ce_default_activation_function",
    "sentence_dense_activation", "sentence_normalize", "sentence_pooling", "sentence_transformers",
    "tie_word_embeddings", "type_vocab_size", "vocab_size",
    // ModernBERT
    "classifier_activation", "classifier_pooling", "global_attn_every_n_layers", "global_rope_theta",
    "hidden_activation", "layer_types", "local_attention", "local_rope_theta", "norm_eps", "rope_parameters",
    "rope_scaling",
    // MPNet, ALBERT, RoFormer, jina-v2
    "emb_pooler", "feed_forward_type", "inner_group_num", "num_hidden_groups", "relative_attention_num_buckets",
    "rotary_value",
    // NomicBERT, GTE
    "activation_function", "causal", "layer_norm_epsilon", "layer_norm_type", "logn_attention_scale",
    "max_trained_positions", "moe_every_n_layers", "n_embd", "n_head", "n_inner", "n_layer", "n_positions",
    "num_experts", "parallel_block", "prenorm", "rope_theta", "rotary_emb_base", "rotary_emb_fraction",
    "rotary_emb_interleaved", "rotary_scaling_factor", "use_rms_norm",
    // static embeddings
    "max_length", "normalize", "sentence_default_prompt", "sentence_include_prompt", "sentence_prompts",
    "tokenizer_max_length",
    // models that users wrote around a package's encoder
    "embedding", "encoder_prefix", "head", "head_activation", "head_dense", "head_norm", "labels", "norm", "positions",
    // of every dialect
    "head_kind", "tensor_prefix",
    // linearised encoders
    "linformer",
    // lucidrains, vit-pytorch, xformers
    "depth", "dim_head", "dim_model", "glu", "heads", "k", "num_classes", "num_heads", "num_tokens", "pad_id", "pool",
    "seq_len", "use_rotary_embeddings",
    // PyText
    "embedding_dim", "linformer_quantize", "max_seq_len", "normalize_output_rep", "num_encoder_layers", "pooling",
    "scaling", "squash_to_unit_range",
    // mlpen/Nystromformer
    "attn_type", "head_dim", "linformer_k", "n_sparse", "num_head", "num_layers", "pooling_mode", "transformer_dim",
    "transformer_hidden_dim"};

// Settings of linformer-pytorch. LinformerEncDec has enc_ or dec_ before their names.
constexpr const char* names_of_halves[] = {"activation",
                                           "causal",
                                           "channels",
                                           "convolution",
                                           "decoder_mode",
                                           "depth",
                                           "dim_d",
                                           "dim_ff",
                                           "dim_k",
                                           "emb_dim",
                                           "ff_intermediate",
                                           "full_attention",
                                           "include_ff",
                                           "input_size",
                                           "k_reduce_by_layer",
                                           "method",
                                           "nhead",
                                           "num_tokens",
                                           "parameter_sharing",
                                           "return_emb",
                                           "w_o_intermediate_dim"};

}  // namespace

const std::set<std::string, std::less<>>& known_settings() {
  static const std::set<std::string, std::less<>> known = [] {
    std::set<std::string, std::less<>> all(std::begin(names), std::end(names));
    for (const std::string name : names_of_halves) all.insert({name, "enc_" + name, "dec_" + name});
    return all;
  }();
  return known;
}

}  // namespace linformer::convert
