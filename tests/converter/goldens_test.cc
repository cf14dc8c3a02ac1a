// Tests every fairseq golden in every file format. Each is recognised and described rightly, and the formats give the
// same model.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/dialects/dialect.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::goldens_test {

using namespace linformer;
using nlohmann::json;

namespace {

// The number of distinct projections of each golden. Every golden has three layers, each of which uses two projections.
const std::map<std::string, size_t> distinct_projections = {
    {"classifier", 1},         {"fp16", 6},          {"prenorm", 6},
    {"quant_noise", 6},        {"relu", 6},          {"shared_kv", 3},
    {"shared_layer_kv", 1},    {"unshared", 6},      {"untied_lm", 6},
    {"v2020_shared_layer", 3}, {"v2020_unshared", 6}};

void check_description(const ModelDescription& model, const std::string& name, const json& meta) {
  const json& config = meta["config"];
  const EncoderDescription& encoder = model.encoder;
  const uint32_t max_tokens = config["max_positions"], ratio = config["compressed"], d = config["encoder_embed_dim"];
  CHECK(encoder.d_model == d);
  CHECK(encoder.max_tokens == max_tokens);
  CHECK(encoder.vocab_size == meta["vocab_size"]);
  CHECK(encoder.pad_id == meta["pad"]);
  CHECK(encoder.layers.size() == config["encoder_layers"]);
  CHECK(encoder.projections.size() == distinct_projections.at(name));
  for (const Projection& projection : encoder.projections) CHECK(projection.k == max_tokens / ratio);
  const bool pre = config.value("encoder_normalize_before", false);
  CHECK((encoder.norm_placement == NormPlacement::pre) == pre);
  CHECK(encoder.final_norm.present() == pre);
  CHECK(encoder.embedding.norm.present());
  CHECK(encoder.embedding.transform.present() == (config.value("quant_noise_pq", 0.0) > 0));
  const bool relu = config["activation_fn"] == "relu";
  for (const LayerDescription& layer : encoder.layers) {
    CHECK(layer.activation == (relu ? Activation::relu : Activation::gelu));
    CHECK(layer.attention.heads == config["encoder_attention_heads"]);
    CHECK(layer.attention.scale == doctest::Approx(1 / std::sqrt(double(layer.attention.head_dim))));
  }
  const bool tied = name != "untied_lm" && !name.starts_with("v2020");  // v2020 files were untied by mistake
  CHECK((model.mlm.output.weight == encoder.embedding.tokens) == tied);
  REQUIRE(model.heads.size() == meta["heads"].size());
  for (const ClassificationHead& head : model.heads) {
    REQUIRE(meta["heads"].contains(head.name));
    CHECK(model.tensors[static_cast<size_t>(head.output.weight)].shape[0] == meta["heads"][head.name]["num_classes"]);
    CHECK(model.tensors[static_cast<size_t>(head.dense.weight)].shape[0] == meta["heads"][head.name]["inner_dim"]);
  }
}

}  // namespace

namespace {

int check_fairseq(const std::string& golden) {
  int files = 0;
  for (const auto& expected : distinct_projections) {
    const std::string& name = expected.first;
    files += check_golden_case(golden + "/fairseq/" + name, [&](const GoldenFile& file) {
      // safetensors files contain no settings, so the test gives them. The other files must convert with the settings
      // that they contain.
      const bool silent = file.name.ends_with(".safetensors");
      if (silent) CHECK(contains(conversion_error(file.bytes), "encoder_attention_heads"));
      Converted model = converted(file.bytes, silent ? file.meta["config"].dump() : "");
      check_description(model.description(), name, file.meta);
      CHECK(model.report.mapped.size() + model.report.left_out.size() == file.meta["state_dict"].size());
      return model;
    });
  }
  std::printf("%d golden files converted\n", files);
  return files;
}

}  // namespace

TEST_CASE("the fairseq goldens in the tree are recognised and described rightly") {
  CHECK(check_fairseq(golden_cases_folder()) == 5);
}

TEST_CASE("all fairseq goldens are recognised and described rightly" * doctest::test_suite("shared")) {
  if (const std::optional<std::string> golden = shared_path("golden")) CHECK(check_fairseq(*golden) >= 15);
}

TEST_CASE("a pickled module is refused with the line that saves its weights") {
  const std::string module = golden_cases_folder() + "/tatp22/headwise_no_params/checkpoint_fullmodule.pt";
  CHECK(contains(conversion_error(read_file(module)), "torch.save(model.state_dict()"));
}

namespace {

int check_recognition(const std::string& golden) {
  const std::map<std::string, std::string> own = {{"fairseq", "fairseq"},
                                                  {"hugging-face", "hugging-face"},
                                                  {"lucidrains", "lucidrains"},
                                                  {"modernbert", "modernbert"},
                                                  {"nystromformer", "nystromformer"},
                                                  {"rotary-bert", "rotary-bert"},
                                                  {"cald", "cald"},
                                                  {"jargon", "jargon"},
                                                  {"transformers-linformer", "transformers-linformer"},
                                                  {"tatp22", "tatp22"},
                                                  {"vit_pytorch_linformer", "vit_linformer"},
                                                  {"xformers", "xformers"}};
  int files = 0;
  for (const auto& [family, dialect] : own) {
    if (!std::filesystem::exists(std::filesystem::path(golden) / family)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(golden) / family)) {
      for (const char* name : {"checkpoint.pt", "checkpoint_legacy.pt", "checkpoint.safetensors"}) {
        const std::filesystem::path path = entry.path() / name;
        if (!std::filesystem::exists(path)) continue;
        CAPTURE(path.string());
        const convert::Checkpoint checkpoint = convert::Checkpoint::open(path.string());
        std::string claimed;
        for (const convert::Dialect* candidate : convert::dialects()) {
          if (candidate->recognise(checkpoint).score > 0) claimed += std::string(candidate->name()) + " ";
        }
        CHECK(claimed == dialect + " ");
        ++files;
      }
    }
  }
  return files;
}

}  // namespace

TEST_CASE("the checkpoints of every family are recognised by their own dialect alone") {
  CHECK(check_recognition(golden_cases_folder()) >= 77);
}

TEST_CASE("all checkpoints of every family are recognised by their own dialect alone" * doctest::test_suite("shared")) {
  if (const std::optional<std::string> golden = shared_path("golden")) CHECK(check_recognition(*golden) >= 60);
}

}  // namespace linformer_test::goldens_test
