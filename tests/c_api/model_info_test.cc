// Tests that the C API describes a model as the C++ API does, and that it refuses indices of parts that the model
// lacks.
#include <string>
#include <string_view>

#include "c_api/handles.h"
#include "c_api/hostile.h"

namespace linformer_test::model_info_test {
namespace {

template <class T>
T sized() {
  T info = {};
  info.size = sizeof info;
  return info;
}

bool same(const char* ours, const char* theirs) { return std::string_view(ours) == theirs; }

TEST_CASE("the C API describes the parts of a model as the C++ API does") {
  Hostile f;
  const linformer::Model& model = *f.model->model;
  lnf_status status;
  const auto ok = [&](lnf_code code) { CHECK_MESSAGE(code == LNF_OK, std::string(status.message)); };

  auto info = sized<lnf_model_info>();
  ok(lnf_model_get_info(f.model, &info, &status));
  CHECK(info.prefix_rows == model.info().prefix_rows);
  CHECK(info.tensors == model.info().tensors);
  REQUIRE(info.heads > 2);
  for (int i = 0; i < info.heads; ++i) {
    auto head = sized<lnf_head_info>();
    ok(lnf_model_get_head(f.model, i, &head, &status));
    const linformer::HeadInfo theirs = model.head(i);
    CHECK(head.pooling == (theirs.each_token ? LNF_POOL_DEFAULT : static_cast<int>(theirs.pooling)));
    CHECK(head.norm == theirs.norm);
    CHECK(head.dense == theirs.dense);
    CHECK(head.spans == theirs.spans);
    CHECK(head.norm_after_dense == theirs.norm_after_dense);
    CHECK(same(head.activation, theirs.activation));
    CHECK(same(head.score_activation, theirs.score_activation));
  }

  auto encoder = sized<lnf_encoder_info>();
  ok(lnf_model_get_encoder(f.model, LNF_PART_ENCODER, &encoder, &status));
  const linformer::EncoderInfo expected = model.encoder();
  CHECK(encoder.max_tokens == expected.max_tokens);
  CHECK(encoder.vocabulary == expected.vocabulary);
  CHECK(encoder.width == expected.width);
  CHECK(encoder.output_width == expected.output_width);
  CHECK(encoder.pad_id == expected.pad_id);
  CHECK(encoder.final_norm == expected.final_norm);
  CHECK(same(encoder.norm, expected.norm));
  CHECK(same(encoder.residual, expected.residual));
  auto embedding = sized<lnf_embedding_info>();
  ok(lnf_model_get_embedding(f.model, LNF_PART_ENCODER, &embedding, &status));
  CHECK(embedding.reads_tokens == 1);
  CHECK(embedding.token_types == expected.embedding.token_types);
  CHECK(embedding.norm_before_factor == expected.embedding.norm_before_factor);
  CHECK(embedding.position_offset == expected.embedding.position_offset);
  CHECK(same(embedding.positions, expected.embedding.positions));
  CHECK(same(embedding.prefix, expected.embedding.prefix));

  REQUIRE(encoder.layers == expected.layers);
  for (int i = 0; i < encoder.layers; ++i) {
    auto layer = sized<lnf_layer_info>();
    ok(lnf_model_get_layer(f.model, LNF_PART_ENCODER, i, &layer, &status));
    const linformer::LayerInfo theirs = model.layer(i);
    CHECK(layer.heads == theirs.heads);
    CHECK(layer.head_dim == theirs.head_dim);
    CHECK(layer.ffn_width == theirs.ffn_width);
    CHECK(layer.width == theirs.width);
    CHECK(layer.scale == theirs.scale);
    CHECK(layer.rotary_scale == theirs.rotary_scale);
    REQUIRE(layer.key_projection_count == theirs.key_projections.size());
    CHECK(layer.key_projections[0] == theirs.key_projections[0]);
    CHECK(layer.full_attention == theirs.full_attention);
    CHECK(same(layer.activation, theirs.activation));
    CHECK(same(layer.row_mask, theirs.row_mask));
    CHECK(same(layer.key_source, theirs.key_source));
  }
  REQUIRE(encoder.projections > 0);
  auto projection = sized<lnf_projection_info>();
  ok(lnf_model_get_projection(f.model, LNF_PART_ENCODER, 0, &projection, &status));
  CHECK(projection.k == model.projection(0).k);
  CHECK(projection.weight == model.projection(0).weight);
  CHECK(same(projection.kind, model.projection(0).kind));
  CHECK(same(projection.order, model.projection(0).order));
  CHECK(same(projection.length_scale, "none"));
  auto tensor = sized<lnf_tensor_info>();
  ok(lnf_model_get_tensor(f.model, 1, &tensor, &status));
  CHECK(tensor.name == model.tensor(1).name);
  CHECK(same(tensor.type, "f32"));
  REQUIRE(tensor.dimensions == model.tensor(1).shape.size());
  CHECK(tensor.shape[0] == model.tensor(1).shape[0]);
  CHECK(tensor.bytes == model.tensor(1).bytes);
  CHECK(tensor.checksum == model.tensor(1).checksum);

  auto masked_lm = sized<lnf_masked_lm_info>();
  ok(lnf_model_get_masked_lm(f.model, &masked_lm, &status));
  CHECK(masked_lm.present == model.masked_lm().present);
  CHECK(same(masked_lm.activation, model.masked_lm().activation));
  auto sentence = sized<lnf_sentence_embedding_info>();
  ok(lnf_model_get_sentence_embedding(f.model, &sentence, &status));
  CHECK(sentence.present == 1);
  CHECK(sentence.pooling == static_cast<int>(model.sentence_embedding().pooling));
  CHECK(sentence.linear_width == model.sentence_embedding().linear_width);
  CHECK(sentence.norm == model.sentence_embedding().norm);
  CHECK(sentence.normalize == model.sentence_embedding().normalize);
  auto tokenizer = sized<lnf_tokenizer_info>();
  ok(lnf_model_get_tokenizer(f.model, &tokenizer, &status));
  CHECK(tokenizer.kind == LNF_TOKENIZER_WORDPIECE);
  CHECK(tokenizer.tokens == model.tokenizer().tokens);
  CHECK(tokenizer.mask_id == model.info().mask_id);
  REQUIRE(tokenizer.single_template_count == 3);
  CHECK(tokenizer.single_template[1] == LNF_FIRST_TEXT);
}

TEST_CASE("missing parts, structs of wrong sizes and a null model are refused") {
  Hostile f;
  const auto refuses = [&](auto made, auto call) {
    f.refused([&](lnf_status* s) { return call(static_cast<const lnf_model*>(nullptr), &made, s); });
    f.refused([&](lnf_status* s) { return call(f.model, static_cast<decltype(made)*>(nullptr), s); });
    for (const size_t size : {size_t{0}, size_t{8}, size_t{4104}, SIZE_MAX}) {
      made.size = size;
      f.refused([&](lnf_status* s) { return call(f.model, &made, s); });
    }
  };
  refuses(sized<lnf_encoder_info>(), [](auto m, auto i, auto s) { return lnf_model_get_encoder(m, 0, i, s); });
  refuses(sized<lnf_embedding_info>(), [](auto m, auto i, auto s) { return lnf_model_get_embedding(m, 0, i, s); });
  refuses(sized<lnf_layer_info>(), [](auto m, auto i, auto s) { return lnf_model_get_layer(m, 0, 0, i, s); });
  refuses(sized<lnf_projection_info>(), [](auto m, auto i, auto s) { return lnf_model_get_projection(m, 0, 0, i, s); });
  refuses(sized<lnf_masked_lm_info>(), [](auto m, auto i, auto s) { return lnf_model_get_masked_lm(m, i, s); });
  refuses(sized<lnf_sentence_embedding_info>(),
          [](auto m, auto i, auto s) { return lnf_model_get_sentence_embedding(m, i, s); });
  refuses(sized<lnf_tokenizer_info>(), [](auto m, auto i, auto s) { return lnf_model_get_tokenizer(m, i, s); });
  refuses(sized<lnf_tensor_info>(), [](auto m, auto i, auto s) { return lnf_model_get_tensor(m, 0, i, s); });

  auto encoder = sized<lnf_encoder_info>();
  auto embedding = sized<lnf_embedding_info>();
  auto layer = sized<lnf_layer_info>();
  auto projection = sized<lnf_projection_info>();
  auto tensor = sized<lnf_tensor_info>();
  for (const int32_t index : {-1, 9999, INT32_MIN, INT32_MAX}) {
    f.refused([&](lnf_status* s) { return lnf_model_get_encoder(f.model, index, &encoder, s); });
    f.refused([&](lnf_status* s) { return lnf_model_get_embedding(f.model, index, &embedding, s); });
    f.refused([&](lnf_status* s) { return lnf_model_get_layer(f.model, index, 0, &layer, s); });
    f.refused([&](lnf_status* s) { return lnf_model_get_layer(f.model, 0, index, &layer, s); });
    f.refused([&](lnf_status* s) { return lnf_model_get_projection(f.model, 0, index, &projection, s); });
    f.refused([&](lnf_status* s) { return lnf_model_get_tensor(f.model, index, &tensor, s); });
  }
  f.refused([&](lnf_status* s) { return lnf_model_get_encoder(f.model, LNF_PART_DECODER, &encoder, s); });
}

}  // namespace
}  // namespace linformer_test::model_info_test
