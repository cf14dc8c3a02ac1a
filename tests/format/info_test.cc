// Tests what the functions of Model return for a model with a value in every field, and for parts that a model lacks.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "format/tiny_model.h"
#include "linformer/model.h"

namespace linformer_test::info_test {

using namespace linformer;

namespace {

std::shared_ptr<const Model> loaded(TinyModel& tiny) {
  const writer::AlignedBytes bytes = tiny.builder.serialize();
  LoadOptions options;
  options.access = Access::read;
  auto model = Model::load({bytes.data(), bytes.size()}, options);
  REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
  return *model;
}

template <class T>
std::vector<T> list(std::span<const T> values) {
  return {values.begin(), values.end()};
}

TEST_CASE("a plain model is described") {
  TinyModel tiny;
  LayerDescription& last = tiny.builder.description.encoder.layers[1];
  last.outer_norm = last.attention_norm;
  const auto model = loaded(tiny);
  const ModelInfo info = model->info();
  CHECK(info.prefix_rows == 0);
  CHECK(info.vocabulary == 64);
  CHECK(info.vector_width == 0);
  CHECK(info.tensors > 20);
  CHECK_FALSE(info.has_decoder);

  const EncoderInfo encoder = model->encoder();
  CHECK(encoder.max_tokens == 20);
  CHECK(encoder.pad_id == 1);
  CHECK(encoder.norm == std::string_view("post"));
  CHECK(encoder.residual == std::string_view("standard"));
  CHECK_FALSE(encoder.output_linear);
  CHECK(encoder.output_width == 16);
  CHECK(encoder.layers == 2);
  CHECK(encoder.projections == 2);
  CHECK(encoder.embedding.reads_tokens);
  CHECK(encoder.embedding.prefix == std::string_view("none"));
  CHECK(encoder.embedding.positions == std::string_view("learned"));
  CHECK(encoder.embedding.position_offset == 2);
  CHECK(encoder.embedding.positions_count_non_pad);
  CHECK(encoder.embedding.token_types == 0);
  CHECK(encoder.embedding.factor_width == 0);
  CHECK(encoder.embedding.norm);

  const LayerInfo layer = model->layer(0);
  CHECK(layer.heads == 2);
  CHECK(layer.head_dim == 8);
  CHECK(layer.scale == 0.353553391f);
  CHECK(list(layer.key_projections) == std::vector<uint32_t>{0});
  CHECK(list(layer.value_projections) == std::vector<uint32_t>{1});
  CHECK(list(model->layer(1).value_projections) == std::vector<uint32_t>{0});
  CHECK(layer.ffn_width == 24);
  CHECK(layer.activation == std::string_view("gelu"));
  CHECK_FALSE(layer.full_attention);
  CHECK_FALSE(layer.outer_norm);
  CHECK(model->layer(1).outer_norm);

  const ProjectionInfo projection = model->projection(1);
  CHECK(projection.kind == std::string_view("linear"));
  CHECK(projection.k == 6);
  CHECK(projection.order == std::string_view("before_linear"));
  CHECK(projection.bias == -1);
  const TensorInfo weight = model->tensor(projection.weight);
  CHECK(weight.name == "encoder.layers.0.self_attn.compress_v.weight");
  CHECK(weight.name.data()[weight.name.size()] == '\0');
  CHECK(list(weight.shape) == std::vector<uint64_t>{6, 20});
  CHECK(weight.layout == std::string_view("padded_rows"));
  CHECK(weight.type == ElementType::bf16);
  CHECK(weight.bytes == 6 * 32 * 2);
  CHECK(weight.offset % 64 == 0);

  const MaskedLmInfo masked_lm = model->masked_lm();
  CHECK(masked_lm.present);
  CHECK(masked_lm.tied);
  CHECK(masked_lm.dense);
  CHECK(masked_lm.norm);
  CHECK(masked_lm.activation == std::string_view("gelu"));
  CHECK_FALSE(model->sentence_embedding().present);

  CHECK(model->head(0).dense);
  CHECK(model->head(0).activation == std::string_view("tanh"));
  CHECK_FALSE(model->head(1).dense);
  CHECK(model->head(1).activation == std::string_view("none"));
  CHECK(name_of(model->head(1).kind) == std::string_view("multi_label"));

  const TokenizerInfo tokenizer = model->tokenizer();
  CHECK(name_of(tokenizer.kind) == std::string_view("byte_bpe"));
  CHECK(tokenizer.tokens == 262);
  CHECK(tokenizer.merges == 6);
  CHECK(tokenizer.added_tokens == 5);
  CHECK(tokenizer.bos_id == 0);
  CHECK(tokenizer.pad_id == 1);
  CHECK(tokenizer.eos_id == 2);
  CHECK(tokenizer.unk_id == 3);
  CHECK(tokenizer.mask_id == 63);
  CHECK(list(tokenizer.single_template) == std::vector<int32_t>{0, TokenizerInfo::first_text, 2});
  CHECK(list(tokenizer.pair_template) ==
        std::vector<int32_t>{0, TokenizerInfo::first_text, 2, 2, TokenizerInfo::second_text, 2});
  CHECK(tokenizer.pair_types.empty());
  CHECK_FALSE(tokenizer.lowercase);
}

TEST_CASE("a model with a value in every field is described") {
  TinyModel tiny;
  tiny.set_every_field();
  const auto model = loaded(tiny);
  CHECK(model->info().prefix_rows == 1);
  CHECK(model->info().has_decoder);
  const EncoderInfo encoder = model->encoder();
  CHECK(encoder.norm == std::string_view("pre"));
  CHECK(encoder.residual == std::string_view("reversible"));
  CHECK(encoder.final_norm);
  CHECK(encoder.output_linear);
  CHECK(encoder.zero_masked_rows);
  CHECK(encoder.encoder_states_width == 16);
  CHECK(encoder.projections == 4);
  CHECK(encoder.embedding.prefix == std::string_view("token"));
  CHECK(encoder.embedding.prefix_token == 2);
  CHECK(encoder.embedding.token_types == 22);
  CHECK(encoder.embedding.factor_width == 16);
  CHECK(encoder.embedding.norm_before_factor);
  CHECK(encoder.embedding.transform);

  const LayerInfo gated = model->layer(0), layer = model->layer(1), full = model->layer(0, Part::decoder);
  CHECK(gated.gated);
  CHECK(gated.ffn_width == 24);
  CHECK(gated.rotary_base == 500.f);
  CHECK(gated.rotary_scale == 0.75f);
  CHECK(layer.causal);
  CHECK(layer.value_is_key);
  CHECK(layer.value_projections.empty());
  CHECK(list(layer.key_projections) == std::vector<uint32_t>{0, 2});
  CHECK(layer.row_mask == std::string_view("zeroed"));
  CHECK(layer.key_source == std::string_view("encoder_states_or_own"));
  CHECK(layer.output_activation == std::string_view("relu"));
  CHECK(layer.activation == std::string_view("relu"));
  CHECK(layer.width == 16);
  CHECK_FALSE(layer.position_bias);
  CHECK(full.full_attention);
  CHECK(full.window == 3);
  CHECK(full.position_bias);
  CHECK_FALSE(model->layer(1, Part::decoder).full_attention);

  const ProjectionInfo pool = model->projection(2), biased = model->projection(3);
  CHECK(pool.kind == std::string_view("mean_pool"));
  CHECK(pool.order == std::string_view("after_linear"));
  CHECK(pool.kernel == 5);
  CHECK(pool.stride == 3);
  CHECK(pool.weight == -1);
  CHECK(model->tensor(biased.bias).name == "compress.bias");
  const int none = model->encoder(Part::decoder).projections - 1;
  CHECK(model->projection(none, Part::decoder).kind == std::string_view("none"));

  const SentenceEmbeddingInfo embedding = model->sentence_embedding();
  CHECK(embedding.present);
  CHECK(name_of(embedding.pooling) == std::string_view("weighted_mean"));
  CHECK(embedding.norm);
  CHECK(embedding.linear_width == 16);
  CHECK(embedding.activation == std::string_view("tanh"));
  CHECK(embedding.normalize);
  CHECK(embedding.prompts == 2);
  CHECK(embedding.default_prompt == 1);
  CHECK(embedding.excludes_prompt);
  CHECK(embedding.characters_per_token == 4);
  CHECK(model->prompt(0).name == "query");
  CHECK(model->prompt(0).text == "query: ");
  CHECK(model->prompt(2).name.empty());
  CHECK(model->masked_lm().activation == std::string_view("gelu_tanh"));
  CHECK(model->head(0).norm_after_dense);
  CHECK(model->head(1).norm);
  CHECK_FALSE(model->head(1).norm_after_dense);
  CHECK(model->head(2).score_activation == std::string_view("sigmoid"));
  const TokenizerInfo tokenizer = model->tokenizer();
  CHECK(list(tokenizer.pair_types) == std::vector<uint8_t>{0, 0, 0, 1, 1, 1});
  CHECK(tokenizer.lowercase);
  CHECK(tokenizer.strip_accents);
}

TEST_CASE("a part that a model lacks is an empty struct") {
  TinyModel tiny;
  const auto model = loaded(tiny);
  for (const int index : {-1, 99, INT32_MIN, INT32_MAX}) {
    CHECK(model->head(index).name.empty());
    CHECK(model->layer(index).heads == 0);
    CHECK(model->projection(index).k == 0);
    CHECK(model->tensor(index).shape.empty());
    CHECK(model->label(index, 0).empty());
  }
  CHECK(model->layer(0, Part::decoder).heads == 0);
  CHECK(model->projection(0, Part::decoder).k == 0);
  CHECK(model->encoder(Part::decoder).layers == 0);
  CHECK(model->label(0, 2).empty());
  CHECK(model->label(0, INT64_MAX).empty());
  CHECK(model->label(0, 1) == "positive");
}

}  // namespace

}  // namespace linformer_test::info_test
