// Tests every golden of tatp22 in every file format. Each is recognised and described rightly, and the formats give the
// same model.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::tatp22_goldens_test {

using namespace linformer;
using nlohmann::json;

namespace {

// The number of distinct projections in the encoder of each golden.
const std::map<std::string, size_t> cases = {{"decoder", 1},
                                             {"encdec", 1},
                                             {"encoder_padder", 1},
                                             {"full_attention", 1},
                                             {"full_attention_causal", 1},
                                             {"headwise_learnable", 4},
                                             {"kreduce_kv_min1", 3},
                                             {"kreduce_layerwise", 1},
                                             {"kreduce_none", 18},
                                             {"kv_convolution", 2},
                                             {"layerwise_convolution", 1},
                                             {"layerwise_learnable", 1},
                                             {"mask", 2},
                                             {"none_convolution", 12},
                                             {"old_2020_09_12_prenorm", 2},
                                             {"padder_lm", 1},
                                             {"relu", 1},
                                             {"return_emb", 1},
                                             {"wo_intermediate", 1}};

void check_description(const ModelDescription& model, const std::string& name, const json& config) {
  const EncoderDescription& encoder = model.encoder;
  const bool two = name == "encdec", decoder = name == "decoder";
  const std::string half = two ? "enc_" : "";
  CHECK(model.dialect == "tatp22");
  CHECK(encoder.d_model == config[half + "channels"]);
  CHECK(encoder.max_tokens == config[half + "input_size"]);
  CHECK(encoder.layers.size() == config[half + "depth"].get<size_t>() * (decoder ? 2 : 1));
  CHECK(encoder.projections.size() == cases.at(name));
  CHECK(model.has_decoder() == two);
  CHECK(model.mlm.present() == (config.contains(two ? "dec_num_tokens" : "num_tokens") && name != "return_emb"));
  const bool full = config.value("full_attention", false), causal = config.value("causal", false);
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    const LayerDescription& layer = encoder.layers[i];
    CHECK(layer.attention.heads == config[half + "nhead"]);
    CHECK(layer.attention.causal == causal);
    CHECK(layer.attention.output_second.present() == (name == "wo_intermediate"));
    CHECK(layer.activation == (config.value("activation", "gelu") == "relu" ? Activation::relu : Activation::gelu));
    CHECK((layer.attention.key_source == KeySource::encoder_states) == (decoder && i % 2 == 1));
    const Projection& projection = encoder.projections[layer.attention.key_projections[0]];
    if (full) {
      CHECK(projection.kind == ProjectionKind::none);
      continue;
    }
    const bool convolution = config.value("method", "") == "convolution";
    CHECK((projection.kind == ProjectionKind::convolution) == convolution);
    const int64_t reduced = config.value("parameter_sharing", "layerwise") == "layerwise"
                                ? 0
                                : int64_t(i) * config.value("k_reduce_by_layer", 0);
    CHECK(projection.k == std::max<int64_t>(1, config[half + "dim_k"].get<int64_t>() - reduced));
  }
}

}  // namespace

namespace {

int check_goldens(const std::string& golden) {
  int files = 0;
  for (const auto& expected : cases) {
    const std::string& name = expected.first;
    files += check_golden_case(golden + "/tatp22/" + name, [&](const GoldenFile& file) {
      check_recognised_alone(file.bytes, "tatp22");
      CHECK(contains(conversion_error(file.bytes), "config '{"));
      Converted model = converted(file.bytes, file.meta["config"].dump());
      check_description(model.description(), name, file.meta["config"]);
      CHECK(model.report.mapped.size() + model.report.left_out.size() == file.meta["state_dict"].size());
      return model;
    });
  }
  std::printf("%d golden files of tatp22 converted\n", files);
  return files;
}

}  // namespace

TEST_CASE("tatp22: the goldens in the tree are recognised and described rightly") {
  CHECK(check_goldens(golden_cases_folder()) == 12);
}

TEST_CASE("tatp22: all goldens are recognised and described rightly" * doctest::test_suite("shared")) {
  if (const std::optional<std::string> golden = shared_path("golden")) CHECK(check_goldens(*golden) >= 19);
}

TEST_CASE("tatp22: goldens without their projections and a pickled module are refused") {
  int files = 0;
  for (const char* name : {"headwise_no_params"}) {
    const std::string folder = golden_cases_folder() + "/tatp22/" + name;
    const json meta = json::parse(read_file(folder + "/meta.json"));
    CHECK(contains(conversion_error(read_file(folder + "/checkpoint.pt"), meta["config"].dump()), "no_params"));
    const std::string module = read_file(folder + "/checkpoint_fullmodule.pt");
    files += module.empty() ? 1 : 2;
    if (!module.empty()) CHECK(contains(conversion_error(module), "linformer_pytorch.LinformerLM"));
  }
  std::printf("%d golden files of tatp22 refused\n", files);
}

}  // namespace linformer_test::tatp22_goldens_test
