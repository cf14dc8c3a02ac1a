// Tests Jargon, CALD, transformers' pull request and masked-linformer: what the conversion makes of their tensors and
// settings, and what it refuses.
#include <doctest/doctest.h>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/conversion.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::newer_linformers_test {

using namespace linformer;
using nlohmann::json;

namespace {

// A golden case whose settings a test changes.
struct Case {
  explicit Case(const std::string& name) {
    const std::string folder = golden_cases_folder() + "/" + name;
    const std::string pickled = folder + "/checkpoint.pt";
    bytes = read_file(std::filesystem::exists(pickled) ? pickled : folder + "/checkpoint.safetensors");
    config = json::parse(read_file(folder + "/meta.json")).at("config");
  }
  Converted made() const { return converted(bytes, config.dump()); }
  // Returns the error of the conversion with these settings changed. A null removes a setting.
  std::string error(const json& change) const {
    json settings = config;
    for (const auto& [name, value] : change.items()) {
      settings[name] = value;
      if (value.is_null()) settings.erase(name);
    }
    return conversion_error(bytes, settings.dump());
  }

  std::string bytes;
  json config;
};

const Projection& projection_of(const Converted& made, size_t layer, bool of_keys) {
  const EncoderDescription& encoder = made.description().encoder;
  const AttentionDescription& attention = encoder.layers[layer].attention;
  return encoder.projections[(of_keys ? attention.key_projections : attention.value_projections)[0]];
}

}  // namespace

TEST_CASE("Jargon has norms before each half of a layer, none of the embedding, and may have a final norm") {
  for (const bool final : {true, false}) {
    const Case jargon(final ? "jargon/masked_lm" : "jargon/labels");
    const Converted made = jargon.made();
    const EncoderDescription& encoder = made.description().encoder;
    CHECK(made.description().dialect == "jargon");
    CHECK(encoder.norm_placement == NormPlacement::pre);
    CHECK(!encoder.embedding.norm.present());
    CHECK(encoder.final_norm.present() == final);
    CHECK(encoder.embedding.position_offset == 2);
    CHECK(encoder.layers.size() == 2);
    CHECK(encoder.layers[0].attention.heads == 3);  // encoder_attention_heads, not num_heads
    CHECK(encoder.layers[0].activation == Activation::relu);
    CHECK(encoder.layers[0].ffn_norm.epsilon == 1e-5f);
    CHECK(encoder.projections.size() == (final ? 1 : 4));
    CHECK(projection_of(made, 0, true).order == ProjectionOrder::before_linear);
    CHECK(made.description().mlm.present() == final);
    for (const char* name :
         {"sbo_head.bias", "roberta.embeddings.LayerNorm.weight", "roberta.encoder.layer.0.output.LayerNorm.bias"}) {
      CHECK(is_left_out(made.report.left_out, name));
    }
  }
  const Case jargon("jargon/masked_lm");
  check_sentence(jargon.error({{"encoder_attention_heads", nullptr}}), {"encoder_attention_heads", "NUMBER"});
  check_sentence(jargon.error({{"hidden_act", nullptr}}), {"activation", "hidden_act"});
  check_sentence(jargon.error({{"layernorm_embedding", true}}), {"layernorm_embedding is true", "nobody can know"});
  check_sentence(jargon.error({{"encoder_normalize_before", false}}),
                 {"encoder_normalize_before is false", "is there"});
  check_sentence(jargon.error({{"add_bias_kv", true}}), {"add_bias_kv is true"});
  check_sentence(jargon.error({{"is_decoder", true}}), {"is_decoder is true"});
  check_sentence(jargon.error({{"position_embedding_type", "relative_key"}}), {"position_embedding_type"});
  check_sentence(jargon.error({{"compressed", 2}}), {"max_positions 14 and compressed 2", "3 rows"});
  check_sentence(jargon.error({{"num_layers", 3}}), {"num_layers is 3"});
}

TEST_CASE("CALD divides compressed rows by the root of the length, and its layers may share one projection") {
  const Case labels("cald/labels"), shared("cald/masked_lm");
  const Converted made = labels.made(), one = shared.made();
  CHECK(made.description().dialect == "cald");
  CHECK(made.description().encoder.projections.size() == 4);
  CHECK(one.description().encoder.projections.size() == 1);
  for (const bool of_keys : {true, false}) {
    const Projection& projection = projection_of(made, 1, of_keys);
    CHECK(projection.length_scale == LengthScale::inverse_root);
    CHECK(projection.order == ProjectionOrder::after_linear);
    CHECK(projection.k == 4);
  }
  CHECK(made.description().encoder.max_tokens == 14);  // of 16 rows, two of them before the first token's position
  CHECK(one.model->projection(0).length_scale == std::string_view("inverse_root"));
  check_sentence(labels.error({{"num_attention_heads", nullptr}}), {"num_attention_heads", "NUMBER"});
  check_sentence(labels.error({{"position_embedding_type", "relative_key"}}), {"position_embedding_type"});
  check_sentence(labels.error({{"quantization_config", json::object()}}), {"quantization_config"});
}

TEST_CASE("transformers' pull request has a projection for each head, and sets masked rows to zero") {
  const Case plain("transformers-linformer/masked_lm"), shared("transformers-linformer/labels");
  const Converted made = plain.made(), one = shared.made();
  CHECK(made.description().dialect == "transformers-linformer");
  const AttentionDescription& attention = made.description().encoder.layers[0].attention;
  CHECK(attention.key_projections.size() == 3);
  CHECK(attention.key_projections[0] != attention.value_projections[0]);
  CHECK(attention.row_mask == RowMask::zeroed);
  CHECK(projection_of(made, 0, true).length_scale == LengthScale::none);
  CHECK(made.description().encoder.embedding.position_offset == 0);
  const AttentionDescription& same = one.description().encoder.layers[1].attention;
  CHECK(same.key_projections == same.value_projections);
  CHECK(one.description().heads[0].activation == Activation::gelu);
  check_sentence(plain.error({{"share_projection", true}}), {"share_projection is true", "is there"});
  check_sentence(shared.error({{"share_projection", false}}), {"share_projection is false", "is not there"});
  check_sentence(plain.error({{"seq_length", 15}}), {"seq_length is 15", "14"});
  check_sentence(plain.error({{"k", 5}}), {"k is 5"});
  check_sentence(plain.error({{"num_attention_heads", 4}}), {"key_projection", "4 (heads)"});
  check_sentence(plain.error({{"position_embedding_type", "relative_key_query"}}), {"position_embedding_type"});
  check_sentence(plain.error({{"architectures", {"LinformerForMultipleChoice"}}}), {"LinformerForMultipleChoice"});
}

TEST_CASE("masked-linformer needs a setting that says whether rows are scaled by the length") {
  const Case plain("lucidrains/masked_lm");
  CHECK(plain.made().description().dialect == "lucidrains");
  CHECK(projection_of(plain.made(), 0, true).length_scale == LengthScale::restored_norm);
  Case unscaled = plain;
  unscaled.config["renorm"] = false;
  CHECK(projection_of(unscaled.made(), 0, true).length_scale == LengthScale::none);
  check_sentence(plain.error({{"renorm", nullptr}}), {"masked-linformer", "\"renorm\": true", "\"renorm\": false"});
  check_sentence(plain.error({{"renorm", "yes"}}), {"renorm"});
  CHECK(Case("lucidrains/masked_shared").made().description().encoder.layers[0].attention.value_is_key);
}

}  // namespace linformer_test::newer_linformers_test
