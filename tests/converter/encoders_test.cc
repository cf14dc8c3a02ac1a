// Tests the encoders that differ from BERT in more than names: what the conversion makes of their settings, and which
// settings it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/conversion.h"
#include "converter/tiny_fairseq.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::encoders_test {

using namespace linformer;
using nlohmann::json;

namespace {

// A golden case whose settings a test changes.
struct GoldenCase {
  explicit GoldenCase(const std::string& name) : folder(golden_cases_folder() + "/" + name) {
    bytes = read_file(folder + "/checkpoint.safetensors");
    config = json::parse(read_file(folder + "/meta.json")).at("config");
  }
  Converted convert() const { return converted(bytes, config.dump()); }

  std::string folder, bytes;
  json config;
};

struct Refusal {
  const char* what;
  json settings;                   // null removes the setting
  std::vector<std::string> parts;  // texts that the error must contain
};

void check_refusals(const std::string& name, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    CAPTURE(name);
    CAPTURE(std::string(refusal.what));
    GoldenCase golden(name);
    for (const auto& [setting, value] : refusal.settings.items()) {
      if (value.is_null()) {
        golden.config.erase(setting);
      } else {
        golden.config[setting] = value;
      }
    }
    check_sentence(conversion_error(golden.bytes, golden.config.dump()), refusal.parts);
  }
}

const AttentionDescription& attention_of(const Converted& made, size_t layer) {
  return made.description().encoder.layers[layer].attention;
}

}  // namespace

TEST_CASE("ModernBERT has windows, two rotary bases and no norm before the first layer") {
  GoldenCase golden("modernbert/labels");
  for (const bool old : {false, true}) {
    if (old) {  // as version 4 of transformers writes these settings
      for (const char* name : {"layer_types", "rope_parameters"}) golden.config.erase(name);
      golden.config.update({{"global_attn_every_n_layers", 3},
                            {"global_rope_theta", 160000.0},
                            {"local_rope_theta", 10000.0},
                            {"position_embedding_type", "absolute"}});
    }
    const Converted made = golden.convert();
    const EncoderDescription& encoder = made.description().encoder;
    REQUIRE(encoder.layers.size() == 4);
    for (size_t i = 0; i < 4; ++i) {
      CHECK(attention_of(made, i).window == (i % 3 == 0 ? 0u : 3u));
      CHECK(attention_of(made, i).rotary_base == (i % 3 == 0 ? 160000.f : 10000.f));
      CHECK(encoder.layers[i].attention_norm.present() == (i > 0));
      CHECK(encoder.layers[i].gated);
    }
    CHECK(encoder.norm_placement == NormPlacement::pre);
    const ClassificationHead& head = made.description().heads[0];
    CHECK(head.norm_after_dense);
    CHECK(head.pooling == Pooling::mean);
  }
}

TEST_CASE("settings of ModernBERT that the runtime can't compute are refused by name") {
  check_refusals("modernbert/labels",
                 {{"no window", {{"local_attention", 0}}, {"local_attention is 0", "2 to"}},
                  {"negative window", {{"local_attention", -128}}, {"local_attention is -128"}},
                  {"huge window", {{"local_attention", int64_t{1} << 40}}, {"local_attention is 1099511627776"}},
                  {"too few layers", {{"layer_types", {"full_attention"}}}, {"layer_types", "list of 4"}},
                  {"unknown layers",
                   {{"layer_types", {"full_attention", "chunked_attention", "full_attention", "full_attention"}}},
                   {"chunked_attention", "layer 1"}},
                  {"every 0 layers",
                   {{"layer_types", nullptr}, {"global_attn_every_n_layers", 0}},
                   {"global_attn_every_n_layers is 0"}},
                  {"scaled positions",
                   {{"rope_parameters", {{"full_attention", {{"rope_type", "yarn"}}}}}},
                   {"rope_parameters.full_attention.rope_type", "yarn"}},
                  {"old scaled positions", {{"rope_scaling", {{"type", "linear"}}}}, {"rope_scaling (config)"}},
                  {"base 0",
                   {{"rope_parameters", {{"sliding_attention", {{"rope_theta", 0}}}}}},
                   {"rope_parameters.sliding_attention.rope_theta"}},
                  {"bases as a list", {{"rope_parameters", {1, 2}}}, {"rope_parameters", "not an object"}},
                  {"heads of one channel", {{"num_attention_heads", 8}}, {"num_attention_heads", "1 channel"}},
                  {"longest text 0", {{"max_position_embeddings", 0}}, {"max_position_embeddings is 0"}},
                  {"longest text huge",
                   {{"max_position_embeddings", int64_t{1} << 40}},
                   {"max_position_embeddings is 1099511627776"}},
                  {"cut beyond the model", {{"max_seq_length", 15}}, {"max_seq_length is 15", "1 to 14"}},
                  {"pooling", {{"classifier_pooling", "max"}}, {"classifier_pooling", "cls and mean"}},
                  {"activation", {{"hidden_activation", "mish"}}, {"hidden_activation", "mish"}},
                  {"epsilon", {{"norm_eps", 0}}, {"norm_eps", "between 0 and 1"}},
                  {"no architecture", {{"architectures", nullptr}}, {"architectures", "texts or single tokens"}}});
}

TEST_CASE("ALBERT's layers share their weights, which the file has once") {
  const GoldenCase golden("hugging-face/albert_masked_lm");
  const Converted made = golden.convert();
  const EncoderDescription& encoder = made.description().encoder;
  REQUIRE(encoder.layers.size() == 8);
  // There are two groups of two layers, and each group runs twice.
  for (const auto& [first, second] : {std::pair<size_t, size_t>{0, 2}, {1, 3}, {4, 6}, {5, 7}}) {
    CHECK(attention_of(made, first).query.weight == attention_of(made, second).query.weight);
    CHECK(encoder.layers[first].ffn_norm.scale == encoder.layers[second].ffn_norm.scale);
  }
  CHECK(attention_of(made, 0).query.weight != attention_of(made, 1).query.weight);
  CHECK(attention_of(made, 0).query.weight != attention_of(made, 4).query.weight);
  CHECK(encoder.embedding.norm_before_factor);
  check_refusals("hugging-face/albert_masked_lm",
                 {{"no layers", {{"num_hidden_layers", 0}}, {"num_hidden_layers is 0", "2 to 512"}},
                  {"fewer than groups", {{"num_hidden_layers", 1}}, {"num_hidden_layers is 1", "2 groups of 2"}},
                  {"many", {{"num_hidden_layers", 513}}, {"num_hidden_layers is 513"}},
                  {"huge", {{"num_hidden_layers", int64_t{1} << 62}}, {"num_hidden_layers"}},
                  {"unsaid", {{"num_hidden_layers", nullptr}}, {"layers", "num_hidden_layers\": NUMBER"}}});
}

TEST_CASE("MPNet's buckets of relative positions become one bias that all layers share") {
  const GoldenCase golden("hugging-face/mpnet_labels");
  const Converted made = golden.convert();
  const TensorIndex bias = attention_of(made, 0).position_bias;
  REQUIRE(bias != absent);
  CHECK(attention_of(made, 1).position_bias == bias);
  const std::vector<float> values = made.values(bias);
  REQUIRE(values.size() == 2 * 299);
  // These are the values of head 0 around distance 0. Small distances have a bucket each, larger distances share
  // buckets, and the largest distances share the last one.
  const float* middle = values.data() + 149;
  CHECK(middle[1] != middle[-1]);
  CHECK(middle[7] != middle[8]);
  CHECK(middle[8] == middle[9]);
  CHECK(middle[127] == middle[149]);
  CHECK(middle[-127] == middle[-149]);
  CHECK(middle[127] != middle[-127]);
  check_refusals("hugging-face/mpnet_labels",
                 {{"other heads", {{"num_attention_heads", 4}}, {"relative_attention_bias", "4 (heads)"}},
                  {"relative positions", {{"position_embedding_type", "relative_key"}}, {"position_embedding_type"}}});
}

TEST_CASE("ELECTRA's head is a score, RoFormer has rotary positions, and its other variants are refused") {
  const Converted discriminator = GoldenCase("hugging-face/electra_discriminator").convert();
  CHECK(discriminator.description().heads[0].name == "replaced_tokens");
  CHECK(discriminator.description().heads[0].kind == HeadKind::score);
  CHECK(discriminator.description().encoder.embedding.norm_before_factor);
  const GoldenCase roformer("hugging-face/roformer_masked_lm");
  const Converted made = roformer.convert();
  CHECK(attention_of(made, 0).rotary_base == 10000.f);
  CHECK(made.description().encoder.embedding.position_kind == PositionKind::none);
  check_refusals("hugging-face/roformer_masked_lm",
                 {{"turned values", {{"rotary_value", true}}, {"rotary_value is true"}},
                  {"heads of one channel", {{"num_attention_heads", 8}}, {"num_attention_heads", "1 channel"}},
                  {"other longest text", {{"max_position_embeddings", 15}}, {"max_position_embeddings is 15"}}});
}

TEST_CASE("NomicBERT and GTE have scaled rotary positions, and their other variants are refused") {
  GoldenCase golden("rotary-bert/gte_masked_lm");
  golden.config["model_type"] = "new";
  golden.config.erase("rope_parameters");
  golden.config["rope_theta"] = 20000;
  golden.config["rope_scaling"] = {{"type", "ntk"}, {"factor", 8.0}};
  const Converted made = golden.convert();
  // The heads have 4 channels.
  CHECK(attention_of(made, 0).rotary_base == 160000.f);
  CHECK(attention_of(made, 0).rotary_scale == doctest::Approx(std::pow(8., -2. / 4)));
  check_refusals(
      "rotary-bert/gte_masked_lm",
      {{"unsaid model", {{"model_type", nullptr}}, {"model_type\": \"nomic_bert\"", "model_type\": \"gte\""}},
       {"other model", {{"model_type", "bert"}}, {"model_type \"bert\"", "nomic_bert, gte or new"}},
       {"scaled positions", {{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}}, {"rope_scaling", "ntk"}},
       {"factor 0", {{"rope_scaling", {{"type", "ntk"}, {"factor", 0}}}}, {"rope_scaling.factor"}},
       {"negative factor", {{"rope_scaling", {{"type", "ntk"}, {"factor", -2}}}}, {"rope_scaling.factor"}},
       {"longest text 0", {{"max_position_embeddings", 0}}, {"max_position_embeddings is 0"}},
       {"norm", {{"layer_norm_type", "rms_norm"}}, {"layer_norm_type", "rms_norm"}},
       {"scaled scores", {{"logn_attention_scale", true}}, {"logn_attention_scale is true"}},
       {"heads of one channel", {{"num_attention_heads", 8}}, {"heads of 1 channel"}}});
  check_refusals("rotary-bert/nomic_bert_masked_lm",
                 {{"norms in front", {{"prenorm", true}}, {"prenorm is true"}},
                  {"neighbouring pairs", {{"rotary_emb_interleaved", true}}, {"rotary_emb_interleaved is true"}},
                  {"half of each head", {{"rotary_emb_fraction", 0.5}}, {"rotary_emb_fraction", "not 1"}},
                  {"experts", {{"num_experts", 8}}, {"num_experts is 8", "several experts"}},
                  {"causal", {{"causal", true}}, {"causal is true"}},
                  {"base 0", {{"rope_parameters", {{"rope_theta", 0}}}}, {"rope_parameters.rope_theta"}},
                  {"other width", {{"intermediate_size", 13}}, {"intermediate_size is 13"}}});
}

TEST_CASE("jina-v2: ALiBi's bias is symmetric and reaches as far as the longest input") {
  GoldenCase golden("hugging-face/jina_encoder");
  const Converted made = golden.convert();
  const std::vector<float> bias = made.values(attention_of(made, 0).position_bias);
  REQUIRE(bias.size() == 3 * 79);
  // Three heads have the slopes of two heads, and then the first slope of four heads.
  const float slopes[] = {1 / 16.f, 1 / 256.f, 1 / 4.f};
  for (size_t head = 0; head < 3; ++head) {
    for (const size_t distance : {size_t{0}, size_t{1}, size_t{39}}) {
      CHECK(bias[head * 79 + 39 + distance] == -slopes[head] * static_cast<float>(distance));
      CHECK(bias[head * 79 + 39 - distance] == -slopes[head] * static_cast<float>(distance));
    }
  }
  CHECK(made.description().embedding.pooling == Pooling::mean);
  CHECK(made.description().encoder.layers[0].gated);
  check_refusals(
      "hugging-face/jina_encoder",
      {{"learned positions", {{"position_embedding_type", "absolute"}}, {"position_embedding_type", "alibi"}},
       {"network", {{"feed_forward_type", "original"}}, {"feed_forward_type", "geglu and reglu"}},
       {"unsaid longest text", {{"max_position_embeddings", nullptr}}, {"max_position_embeddings\": NUMBER"}},
       {"longest text 0", {{"max_position_embeddings", 0}}, {"max_position_embeddings is 0"}},
       {"a table that is too large", {{"max_position_embeddings", 16'000'000}}, {"bytes of memory"}}});
}

TEST_CASE("the encoder of jina-embeddings-v2-base-code has norms of queries and keys, and an outer norm") {
  GoldenCase golden("hugging-face/jina_code_encoder");
  const Converted made = golden.convert();
  const LayerDescription& layer = made.description().encoder.layers[1];
  CHECK(layer.attention.query_norm.present());
  CHECK(layer.attention.key_norm.present());
  CHECK(layer.outer_norm.present());
  CHECK(layer.outer_norm.epsilon == 1e-12f);
  CHECK(layer.attention.key_norm.epsilon == 1e-12f);
  CHECK(layer.gated);
  CHECK(attention_of(made, 0).position_bias != absent);
}

}  // namespace linformer_test::encoders_test
