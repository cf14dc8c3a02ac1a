// Tests the vit_linformer dialect: patch embeddings of both versions, class token, positions, head and the goldens.
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::vit_linformer_test {

using namespace linformer;
using nlohmann::json;

namespace {

constexpr const char* settings = R"({"heads": 2, "pool": "mean"})";

// Returns the tensors of a model with d 8, 5 patches of 12 values and a class token, one layer and 3 classes.
std::vector<HandTensor> tiny_vit(bool patch_norms, int64_t projected = 6) {
  std::vector<HandTensor> made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, 1));
  };
  const auto add_weight_bias = [&](const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  };
  add("pos_embedding", {1, 6, 8});
  add("cls_token", {1, 1, 8});
  if (patch_norms) add_weight_bias("to_patch_embedding.1", {12});
  add_weight_bias(patch_norms ? "to_patch_embedding.2" : "to_patch_embedding.1", {8, 12});
  if (patch_norms) add_weight_bias("to_patch_embedding.3", {8});
  const std::string attention = "transformer.net.layers.0.0.", ffn = "transformer.net.layers.0.1.";
  add_weight_bias(attention + "norm", {8});
  for (const char* name : {"fn.to_q.weight", "fn.to_k.weight", "fn.to_v.weight"}) add(attention + name, {8, 8});
  for (const char* name : {"fn.proj_k", "fn.proj_v"}) add(attention + name, {projected, 2});
  add_weight_bias(attention + "fn.to_out", {8, 8});
  add_weight_bias(ffn + "norm", {8});
  add_weight_bias(ffn + "fn.w1", {16, 8});
  add_weight_bias(ffn + "fn.w2", {8, 16});
  add_weight_bias("mlp_head.0", {8});
  add_weight_bias("mlp_head.1", {3, 8});
  return made;
}

}  // namespace

TEST_CASE("ViT: each role gets its tensor's values, and the description has the fixed settings, in both versions") {
  for (const bool norms : {true, false}) {
    CAPTURE(norms);
    std::vector<HandTensor> tensors = tiny_vit(norms);
    const Converted model = converted(torch_zip(tensors), settings);
    const auto check = [&](TensorIndex index, const std::string& name) {
      check_values(model, index, named(tensors, name));
    };
    CHECK(model.description().dialect == "vit_linformer");
    const EncoderDescription& encoder = model.description().encoder;
    const EmbeddingDescription& embedding = encoder.embedding;
    CHECK(encoder.d_model == 8);
    CHECK(encoder.max_tokens == 6);
    CHECK(encoder.vocab_size == 0);
    CHECK(encoder.norm_placement == NormPlacement::pre);
    CHECK(embedding.vectors.width == 12);
    check(embedding.vectors.linear.weight, norms ? "to_patch_embedding.2.weight" : "to_patch_embedding.1.weight");
    check(embedding.vectors.linear.bias, norms ? "to_patch_embedding.2.bias" : "to_patch_embedding.1.bias");
    CHECK(embedding.vectors.norm_in.present() == norms);
    CHECK(embedding.vectors.norm_out.present() == norms);
    if (norms) {
      check(embedding.vectors.norm_in.scale, "to_patch_embedding.1.weight");
      check(embedding.vectors.norm_out.bias, "to_patch_embedding.3.bias");
    }
    check(embedding.positions, "pos_embedding");
    check(embedding.prefix, "cls_token");
    CHECK(embedding.position_kind == PositionKind::learned);
    CHECK(embedding.position_offset == 0);
    REQUIRE(model.description().heads.size() == 1);
    const ClassificationHead& head = model.description().heads[0];
    CHECK(head.name == "mlp_head");
    CHECK(head.pooling == Pooling::mean);
    CHECK(!head.dense.present());
    check(head.norm.scale, "mlp_head.0.weight");
    check(head.output.weight, "mlp_head.1.weight");
    CHECK(model.report.mapped.size() == tensors.size());
  }
  const Converted first = converted(safetensors(tiny_vit(true)), R"({"heads": 2, "pool": "cls"})");
  CHECK(first.description().heads[0].pooling == Pooling::first_token);
}

TEST_CASE("ViT: a projection for more patches than there are positions is cut") {
  std::vector<HandTensor> tensors = tiny_vit(true, 9);
  const Converted model = converted(torch_zip(tensors), settings);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(encoder.max_tokens == 6);
  const std::vector<float> values = model.values(encoder.projections[0].weight);
  const std::vector<double>& stored = named(tensors, "transformer.net.layers.0.0.fn.proj_k").values;
  REQUIRE(values.size() == 12);
  for (size_t row = 0; row < 2; ++row) {
    for (size_t position = 0; position < 6; ++position) {
      CHECK(values[row * 6 + position] == static_cast<float>(stored[position * 2 + row]));
    }
  }
  const Converted fewer = converted(torch_zip(tiny_vit(true, 4)), settings);
  CHECK(fewer.description().encoder.max_tokens == 4);
}

TEST_CASE("ViT: refusals say what is wrong") {
  using Tensors = std::vector<HandTensor>;
  const auto refused = [](const std::function<void(Tensors&)>& change, const std::string& config,
                          std::initializer_list<const char*> parts) {
    Tensors tensors = tiny_vit(true);
    change(tensors);
    const std::string error = conversion_error(safetensors(tensors), config);
    CAPTURE(error);
    for (const std::string part : parts) {
      CAPTURE(part);
      CHECK(contains(error, part));
    }
  };
  const auto none = [](Tensors&) {};
  refused(none, R"({"heads": 2})", {"config", "{\"pool\": \"cls\"}", "{\"pool\": \"mean\"}"});
  refused(none, R"({"heads": 2, "pool": "max"})", {"pool is \"max\"", "cls and mean"});
  refused(none, R"({"pool": "cls"})", {"attention heads", "{\"heads\": "});
  refused(none, R"({"heads": 2, "pool": "cls", "num_classes": 5})", {"num_classes is 5", "3 classes"});
  refused([](Tensors& t) { remove(t, "cls_token"); }, settings, {"cls_token", "missing"});
  refused([](Tensors& t) { remove(t, "to_patch_embedding.3.bias"); }, settings, {"to_patch_embedding.3.bias"});
  refused([](Tensors& t) { remove(t, "mlp_head.0.weight"); }, settings, {"mlp_head.0.weight", "missing"});
  refused([](Tensors& t) { named(t, "cls_token").shape = {1, 2, 4}; }, settings, {"cls_token", "[2, 4]", "8 (dim)"});
  refused([](Tensors& t) { named(t, "pos_embedding").shape = {2, 3, 8}; }, settings, {"pos_embedding", "should be 1"});
  refused([](Tensors& t) { t.push_back(random_tensor("to_latent.weight", {8}, 1)); }, settings,
          {"to_latent.weight", "not part of a ViT"});
}

TEST_CASE("ViT: the goldens are recognised and described rightly") {
  int files = 0;
  for (const char* name : {"cls", "mean"}) {
    const std::string folder = golden_cases_folder() + "/vit_pytorch_linformer/" + name;
    CAPTURE(name);
    const json meta = json::parse(read_file(folder + "/meta.json"));
    const json &vit = meta["config"]["vit"], &layers = meta["config"]["linformer"];
    json config = vit;
    config.update(layers);
    const Converted model = converted(read_file(folder + "/checkpoint.pt"), config.dump());
    const EncoderDescription& encoder = model.description().encoder;
    const uint32_t patch = vit["patch_size"], channels = vit["channels"];
    CHECK(encoder.embedding.vectors.width == patch * patch * channels);
    CHECK(encoder.max_tokens == layers["seq_len"]);
    CHECK(encoder.layers.size() == layers["depth"]);
    CHECK(encoder.layers[0].attention.heads == layers["heads"]);
    CHECK(encoder.projections[0].k == layers["k"]);
    CHECK((model.description().heads[0].pooling == Pooling::mean) == (vit["pool"] == "mean"));
    CHECK(model.report.dialect == "vit_linformer");
    CHECK(model.report.mapped.size() == meta["state_dict"].size());
    ++files;
  }
  std::printf("%d ViT golden files converted\n", files);
}

}  // namespace linformer_test::vit_linformer_test
