// Every golden case of nystromformer in every file format: recognised, described rightly, and equal between formats.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "converter/conversion.h"
#include "converter/dialects/dialect.h"
#include "support/shared_data.h"

using namespace linformer;
using namespace linformer_test;
using nlohmann::json;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// No other dialect takes the file for its own.
void check_recognised(const std::string& bytes) {
  const auto checkpoint = convert::Checkpoint::open(as_bytes(bytes), "memory");
  for (const convert::Dialect* dialect : convert::dialects()) {
    CAPTURE(std::string(dialect->name()));
    CHECK((dialect->recognise(checkpoint).score > 0) == (std::string(dialect->name()) == "nystromformer"));
  }
}

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

TEST_CASE("nystromformer goldens") {
  int files = 0;
  for (const std::string name : {"bert_seqcls", "lra_cls", "lra_dual", "lra_mean", "reorg_mean"}) {
    const std::optional<std::string> folder = shared_path("golden/nystromformer/" + name);
    if (!folder) return;
    CAPTURE(name);
    const json meta = json::parse(read_file(*folder + "/meta.json"));
    std::optional<Converted> first;
    for (const char* file : {"checkpoint.pt", "checkpoint_legacy.pt", "checkpoint.safetensors"}) {
      const std::string bytes = read_file(*folder + "/" + file);
      if (bytes.empty()) continue;
      CAPTURE(file);
      check_recognised(bytes);
      if (name != "bert_seqcls") CHECK(contains(conversion_error(bytes), "pooling_mode"));
      Converted model = converted(bytes, meta["config"].dump());
      check_description(model.description(), name, meta["config"]);
      CHECK(model.report.left_out.empty());
      if (first) {
        const std::span<const std::byte> a = first->file, b = model.file;
        CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
      } else {
        first = std::move(model);
      }
      ++files;
    }
    CHECK(first.has_value());
  }
  std::printf("%d golden files of nystromformer converted\n", files);
}
