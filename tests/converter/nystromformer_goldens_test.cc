// Tests every golden of nystromformer in every file format. Each is recognised and described rightly, and the formats
// give the same model.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "support/shared_data.h"

namespace linformer_test::nystromformer_goldens_test {

using namespace linformer;
using nlohmann::json;

namespace {

void check_description(const ModelDescription& model, const std::string& name, const json& config) {
  const EncoderDescription& encoder = model.encoder;
  const bool bert = name == "bert_seqcls";
  CHECK(model.dialect == "nystromformer");
  CHECK(encoder.d_model == config[name == "reorg_mean" ? "dim" : "transformer_dim"]);
  CHECK(encoder.max_tokens == config["max_seq_len"]);
  CHECK(encoder.vocab_size == config["vocab_size"]);
  CHECK(encoder.layers.size() == config["num_layers"]);
  CHECK(encoder.projections.size() == config["num_head"]);
  CHECK(encoder.pad_id == (bert ? -1 : 0));
  CHECK(model.mlm.present() == bert);
  for (const LayerDescription& layer : encoder.layers) {
    CHECK(layer.attention.heads == config["num_head"]);
    CHECK(layer.attention.head_dim == config["head_dim"]);
    CHECK(encoder.projections[layer.attention.key_projections[0]].k == config["linformer_k"]);
  }
  CHECK(encoder.embedding.prefix_token == (name == "lra_cls" ? int32_t{config["vocab_size"]} - 1 : -1));
  REQUIRE(model.heads.size() == 1);
  CHECK((model.heads[0].pairing == Pairing::product_difference) == (name == "lra_dual"));
  CHECK(model.heads[0].pooling == (bert || name == "lra_cls" ? Pooling::first_token : Pooling::mean_over_max_tokens));
  CHECK(model.tensors[static_cast<size_t>(model.heads[0].output.weight)].shape[0] == config["num_classes"]);
}

}  // namespace

namespace {

int check_goldens(const std::string& golden) {
  int files = 0;
  for (const std::string name : {"bert_seqcls", "lra_cls", "lra_dual", "lra_mean", "reorg_mean"}) {
    files += check_golden_case(golden + "/nystromformer/" + name, [&](const GoldenFile& file) {
      check_recognised_alone(file.bytes, "nystromformer");
      if (name != "bert_seqcls") CHECK(contains(conversion_error(file.bytes), "pooling_mode"));
      Converted model = converted(file.bytes, file.meta["config"].dump());
      check_description(model.description(), name, file.meta["config"]);
      CHECK(model.report.left_out.empty());
      return model;
    });
  }
  std::printf("%d golden files of nystromformer converted\n", files);
  return files;
}

}  // namespace

TEST_CASE("nystromformer: the goldens in the tree are recognised and described rightly") {
  CHECK(check_goldens(golden_cases_folder()) == 4);
}

TEST_CASE("nystromformer: all goldens are recognised and described rightly" * doctest::test_suite("shared")) {
  if (const std::optional<std::string> golden = shared_path("golden")) CHECK(check_goldens(*golden) >= 7);
}

}  // namespace linformer_test::nystromformer_goldens_test
