// Tests the xformers dialect: one attention in each layout of its input projections, refusals and the golden.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::xformers_test {

using namespace linformer;
using nlohmann::json;

namespace {

constexpr const char* two_heads = R"({"num_heads": 2})";
const std::string container = "in_proj_container.";

std::vector<HandTensor> tiny_attention(bool bias = true) {
  std::vector<HandTensor> made{random_tensor("attention.E.weight", {2, 6}, 1),
                               random_tensor("attention.F.weight", {2, 6}, 1)};
  for (const char* name :
       {"in_proj_container.q_proj", "in_proj_container.k_proj", "in_proj_container.v_proj", "proj"}) {
    made.push_back(random_tensor(std::string(name) + ".weight", {8, 8}, 1));
    if (bias) made.push_back(random_tensor(std::string(name) + ".bias", {8}, 1));
  }
  return made;
}

// Returns one tensor that has the values of the tensors of query, key and value, one after the other, and removes these
// from `tensors`.
HandTensor packed(std::vector<HandTensor>& tensors, const std::string& suffix, const std::string& name) {
  HandTensor made{container + name, {}, {}, DataType::f32};
  for (const char* letter : {"q", "k", "v"}) {
    const std::string part = container + letter + suffix;
    const HandTensor& tensor = named(tensors, part);
    made.shape = tensor.shape;
    made.values.insert(made.values.end(), tensor.values.begin(), tensor.values.end());
    remove(tensors, part);
  }
  made.shape[0] *= 3;
  return made;
}

constexpr const char* inv_freq = "rotary_embeddings.inv_freq";

// Returns the frequencies as the implementation computes them, in single precision.
HandTensor frequencies(float base, int64_t pairs, DataType type = DataType::f32) {
  HandTensor made{inv_freq, {pairs}, {}, type};
  for (int64_t j = 0; j < pairs; ++j) {
    const float power = static_cast<float>(2 * j) / static_cast<float>(2 * pairs);
    made.values.push_back(1 / std::pow(base, power));
  }
  return made;
}

std::vector<HandTensor> with(std::vector<HandTensor> tensors, HandTensor other) {
  tensors.push_back(std::move(other));
  return tensors;
}

void check_same_values(const Converted& a, const Converted& b) {
  const AttentionDescription &first = a.description().encoder.layers[0].attention,
                             &second = b.description().encoder.layers[0].attention;
  for (Linear AttentionDescription::*part : {&AttentionDescription::query, &AttentionDescription::key,
                                             &AttentionDescription::value, &AttentionDescription::output}) {
    CHECK(a.values((first.*part).weight) == b.values((second.*part).weight));
    CHECK(a.values((first.*part).bias) == b.values((second.*part).bias));
  }
}

}  // namespace

TEST_CASE("xformers: each role gets its tensor's values, and the description has the fixed settings") {
  std::vector<HandTensor> tensors = tiny_attention();
  const Converted model = converted(torch_zip(tensors), two_heads);
  const EncoderDescription& encoder = model.description().encoder;
  const auto check = [&](TensorIndex index, const std::string& name) {
    check_values(model, index, named(tensors, name));
  };
  CHECK(model.description().dialect == "xformers");
  CHECK(encoder.residual == ResidualKind::none);
  CHECK(encoder.d_model == 8);
  CHECK(encoder.max_tokens == 6);
  CHECK(encoder.embedding.vectors.width == 8);
  REQUIRE(encoder.layers.size() == 1);
  const LayerDescription& layer = encoder.layers[0];
  const AttentionDescription& attention = layer.attention;
  CHECK(!layer.attention_norm.present());
  CHECK(!layer.ffn_in.present());
  CHECK(attention.heads == 2);
  CHECK(attention.head_dim == 4);
  CHECK(attention.scale == 0.5f);
  CHECK(attention.key_source == KeySource::encoder_states_or_own);
  check(attention.query.weight, container + "q_proj.weight");
  check(attention.query.bias, container + "q_proj.bias");
  check(attention.key.weight, container + "k_proj.weight");
  check(attention.value.bias, container + "v_proj.bias");
  check(attention.output.weight, "proj.weight");
  check(encoder.projections[attention.key_projections[0]].weight, "attention.E.weight");
  check(encoder.projections[attention.value_projections[0]].weight, "attention.F.weight");
  CHECK(encoder.projections[0].order == ProjectionOrder::after_linear);
  CHECK(encoder.projections[0].bias == absent);
  CHECK(model.report.mapped.size() == tensors.size());

  const Converted bare = converted(torch_zip(tiny_attention(false)), two_heads);
  CHECK(bare.description().encoder.layers[0].attention.key.bias == absent);
  CHECK(bare.description().encoder.layers[0].attention.output.bias == absent);
}

TEST_CASE("xformers: packed and shared input projections give the same model as separate ones") {
  const Converted base = converted(torch_zip(tiny_attention()), two_heads);
  std::vector<HandTensor> separate = tiny_attention();
  separate.push_back(packed(separate, "_proj.bias", "in_proj_bias"));
  std::vector<HandTensor> one = separate;
  one.push_back(packed(one, "_proj.weight", "in_proj_weight"));
  separate = renamed(separate, "_proj.weight", "_proj_weight");
  std::vector<HandTensor> linear = renamed(one, "in_proj_weight", "in_proj.weight");
  linear = renamed(linear, "in_proj_bias", "in_proj.bias");
  for (const std::vector<HandTensor>* tensors : {&one, &linear, &separate}) {
    check_same_values(base, converted(torch_zip(*tensors), two_heads));
  }

  // Query, key and value share one weight and have biases of their own. In the second case the file has the weight
  // under one name, as safetensors keeps it.
  std::vector<HandTensor> shared = tiny_attention();
  for (const char* letter : {"q", "v"}) {
    named(shared, container + letter + "_proj.weight").values = named(shared, container + "k_proj.weight").values;
  }
  const Converted repeated = converted(torch_zip(shared), two_heads);
  CHECK(repeated.description().encoder.layers[0].attention.query.weight ==
        repeated.description().encoder.layers[0].attention.value.weight);
  remove(shared, container + "q_proj.weight");
  remove(shared, container + "v_proj.weight");
  const Converted kept = converted(torch_zip(shared), two_heads);
  check_same_values(repeated, kept);
  CHECK(std::any_of(kept.report.notes.begin(), kept.report.notes.end(),
                    [](const std::string& note) { return contains(note, "k_proj.weight is taken for the query"); }));
}

TEST_CASE("xformers: the base of rotary positions is found from the frequencies") {
  for (const float base : {10000.f, 500.f, 1e6f, 2.5f}) {
    CAPTURE(base);
    const HandTensor kept = frequencies(base, 2);
    const Converted model = converted(torch_zip(with(tiny_attention(), kept)), two_heads);
    const EncoderDescription& encoder = model.description().encoder;
    // A base that is a whole number is found exactly.
    CHECK(std::abs(encoder.layers[0].attention.rotary_base - base) <= (base == 2.5f ? 1e-5f : 0.f));
    CHECK(encoder.layers[0].attention.key_source == KeySource::own);
    CHECK(encoder.encoder_states_width == 0);
    CHECK(contains(fact(model.report, "rotary positions"), "base "));
    CHECK(model.report.mapped.size() == tiny_attention().size() + 1);
    CHECK(model.report.left_out.empty());
  }
  const auto base_of = [](const Converted& model) {
    return model.description().encoder.layers[0].attention.rotary_base;
  };
  // A head of two channels has only the 0th power of the base, so that the default base is taken. If no tensor shows
  // rotary positions, a setting may.
  CHECK(base_of(converted(torch_zip(with(tiny_attention(), frequencies(10000, 1))), R"({"num_heads": 4})")) == 10000);
  const char* rotary = R"({"num_heads": 2, "use_rotary_embeddings": true})";
  CHECK(base_of(converted(torch_zip(tiny_attention()), rotary)) == 10000);
  for (const DataType type : {DataType::f16, DataType::bf16}) {
    const std::string rounded = torch_zip(with(tiny_attention(), frequencies(10000, 2, type)));
    check_sentence(conversion_error(rounded, two_heads), {inv_freq, "rounded", "{\"use_rotary_embeddings\": true}"});
    const Converted model = converted(rounded, rotary);
    CHECK(base_of(model) == 10000);
    CHECK(is_left_out(model.report.left_out, inv_freq));
  }
}

TEST_CASE("xformers: refusals say what is wrong") {
  using Tensors = std::vector<HandTensor>;
  const auto refused = [](const std::function<void(Tensors&)>& change, const std::string& config,
                          std::initializer_list<const char*> parts) {
    Tensors tensors = tiny_attention();
    change(tensors);
    const std::string error = conversion_error(torch_zip(tensors), config);
    CAPTURE(error);
    for (const std::string part : parts) {
      CAPTURE(part);
      CHECK(contains(error, part));
    }
  };
  const auto none = [](Tensors&) {};
  refused(none, "", {"attention heads", "config '{\"num_heads\": NUMBER}'"});
  refused(none, R"({"num_heads": 3})", {"num_heads is 3"});
  refused(none, R"({"num_heads": 2, "k": 5})", {"k is 5", "2 compressed positions"});
  refused([](Tensors& t) { remove(t, "attention.F.weight"); }, two_heads, {"attention.F.weight", "missing"});
  refused([](Tensors& t) { remove(t, "proj.weight"); }, two_heads, {"proj.weight", "missing"});
  refused([](Tensors& t) { remove(t, container + "k_proj.weight"); }, two_heads, {"k_proj.weight", "missing"});
  refused([](Tensors& t) { remove(t, container + "q_proj.bias"); }, two_heads, {"q_proj.bias", "missing"});
  refused([](Tensors& t) { named(t, "attention.F.weight").shape = {3, 4}; }, two_heads, {"[3, 4]", "6 (N)"});
  const auto frequency_refused = [&](const std::vector<double>& values, std::initializer_list<const char*> parts) {
    const auto add = [&](Tensors& t) {
      t.push_back({inv_freq, {static_cast<int64_t>(values.size())}, values, DataType::f32});
    };
    refused(add, two_heads, parts);
  };
  frequency_refused({1, 0.5, 0.25}, {inv_freq, "[3]", "2 (half of a head's channels)"});
  frequency_refused({0.5, 0.005}, {inv_freq, "powers", "not supported"});
  frequency_refused({1, -0.01}, {inv_freq, "powers"});
  frequency_refused({1, 0}, {inv_freq, "powers"});
  refused(
      [](Tensors& t) {
        t.push_back({inv_freq, {4}, {1, 0.1, 0.011, 0.001}, DataType::f32});
      },
      R"({"num_heads": 1})", {inv_freq, "4 powers", "^(-2j/8)"});
  refused(
      [](Tensors& t) {
        t.push_back({inv_freq, {2}, {1, 0.02}, DataType::f16});
      },
      R"({"num_heads": 2, "use_rotary_embeddings": true})", {inv_freq, "10000^(-2j/4)"});
  refused([](Tensors& t) { t.push_back(frequencies(10000, 2)); }, R"({"num_heads": 2, "use_rotary_embeddings": false})",
          {"use_rotary_embeddings is false", inv_freq});
  refused([](Tensors& t) { t.push_back(random_tensor("rotary_embeddings.scale", {2}, 1)); }, two_heads,
          {"rotary_embeddings.scale", "not part of an xformers"});
  refused([](Tensors& t) { t.push_back(random_tensor("norm.weight", {8}, 1)); }, two_heads,
          {"norm.weight", "not part of an xformers"});
  refused(
      [](Tensors& t) {
        HandTensor bias = packed(t, "_proj.bias", "in_proj_bias");
        bias.shape = {12};
        bias.values.resize(12);
        t.push_back(bias);
      },
      two_heads, {"in_proj_bias", "[12]", "equally many"});
}

TEST_CASE("xformers: the golden is recognised and described rightly") {
  const std::string folder = golden_cases_folder() + "/xformers/mha_linformer";
  const json meta = json::parse(read_file(folder + "/meta.json"));
  const json& config = meta["config"];
  const Converted model = converted(read_file(folder + "/checkpoint.pt"), config.dump());
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(model.report.dialect == "xformers");
  CHECK(encoder.d_model == config["dim_model"]);
  CHECK(encoder.max_tokens == config["seq_len"]);
  CHECK(encoder.projections[0].k == config["k"]);
  CHECK(encoder.layers[0].attention.heads == config["num_heads"]);
  CHECK(model.report.mapped.size() == meta["state_dict"].size());
  std::printf("1 xformers golden file converted\n");
}

}  // namespace linformer_test::xformers_test
