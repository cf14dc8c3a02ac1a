#include <doctest/doctest.h>

#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "format/same_description.h"
#include "format/tiny_model.h"
#include "linformer/model.h"
#include "model/flatbuffers_compat.h"

using namespace linformer;
using linformer_test::golden_model;
using linformer_test::TinyModel;

TEST_CASE("the golden file of version 1 loads and says what it always said") {
  const auto model = Model::load(golden_model(1).c_str(), {Verify::always, 0});
  CAPTURE(std::string(model.status().message()));
  REQUIRE(model.ok());
  const ModelDescription& golden = model.value()->description();
  TinyModel tiny;
  const writer::AlignedBytes bytes = tiny.builder.serialize();
  const auto fresh = Model::load(bytes);
  REQUIRE(fresh.ok());
  CHECK(linformer_test::difference(golden, fresh.value()->description()) == "");
  CHECK(linformer_test::difference(golden, tiny.builder.description) == "");
  REQUIRE(model.value()->file_bytes() == bytes.size());
  for (TensorIndex i = 0; i < static_cast<TensorIndex>(golden.tensors.size()); ++i) {
    CHECK(std::memcmp(model.value()->data(i), fresh.value()->data(i), golden.tensors[static_cast<size_t>(i)].bytes) ==
          0);
  }
}

TEST_CASE("the writer still writes the golden file byte for byte") {
  if (FLATBUFFERS_VERSION_MAJOR != 2) {
    std::printf("skipped: the golden file was written with flatbuffers 2, this is %d\n", FLATBUFFERS_VERSION_MAJOR);
    return;
  }
  std::ifstream file(golden_model(1), std::ios::binary);
  const std::vector<char> golden{std::istreambuf_iterator<char>(file), {}};
  TinyModel tiny;
  const writer::AlignedBytes bytes = tiny.builder.serialize();
  REQUIRE(golden.size() == bytes.size());
  CHECK(std::memcmp(golden.data(), bytes.data(), golden.size()) == 0);
}

TEST_CASE("the hex dump in FORMAT.md is the golden file's") {
  std::ifstream file(golden_model(1), std::ios::binary);
  const std::vector<char> golden{std::istreambuf_iterator<char>(file), {}};
  std::ifstream format(LINFORMER_FORMAT_DOCUMENT);
  REQUIRE(format);
  int lines = 0;
  for (std::string line; std::getline(format, line);) {
    unsigned offset = 0;
    int used = 0;
    if (line.size() < 14 || line.compare(0, 4, "    ") != 0 || std::isxdigit(line[4]) == 0) continue;
    if (std::sscanf(line.c_str(), "    %6x %n", &offset, &used) != 1 || used != 12) continue;
    ++lines;
    CAPTURE(line);
    for (size_t i = 0; i < 16 && line[static_cast<size_t>(used) + 3 * i] != ' '; ++i) {
      REQUIRE(offset + i < golden.size());
      const std::string byte = line.substr(static_cast<size_t>(used) + 3 * i, 2);
      CHECK(std::stoul(byte, nullptr, 16) == static_cast<unsigned char>(golden[offset + i]));
    }
  }
  CHECK(lines == 22);
}

TEST_CASE("the golden file stays small enough for the hostile tests") {
  TinyModel tiny;
  CHECK(tiny.builder.serialize().size() < 64 * 1024);
}

// A value in every field that differs from its default, so that a forgotten one shows.
TEST_CASE("every field survives writing and loading") {
  TinyModel tiny;
  ModelDescription& model = tiny.builder.description;
  EncoderDescription& encoder = model.encoder;
  encoder.norm_placement = NormPlacement::pre;
  encoder.residual = ResidualKind::reversible;
  encoder.embedding.scale = 4;
  encoder.embedding.position_base = 500;
  encoder.embedding.transform_before_norm = true;
  encoder.embedding.token_types = encoder.embedding.positions;
  encoder.embedding.transform = encoder.layers[0].attention.query;
  encoder.embedding.factor = encoder.layers[0].attention.key;
  encoder.final_norm = encoder.layers[0].ffn_norm;
  encoder.final_norm.epsilon = 0.5f;
  LayerDescription& layer = encoder.layers[1];
  layer.activation = Activation::relu;
  layer.attention_resample = layer.attention.query;
  layer.ffn_resample = layer.attention.value;
  layer.attention.output_second = layer.attention.output;
  layer.attention.causal = layer.attention.masks_rows = layer.attention.activation_before_output = true;
  layer.attention.value_is_key = true;
  layer.attention.value = {};
  layer.attention.scale = 0.75f;
  layer.attention.key_projections = {0, 2};
  layer.attention.value_projections = {};
  Projection pool;
  pool.kind = ProjectionKind::mean_pool;
  pool.order = ProjectionOrder::after_linear;
  pool.k = 6;
  pool.kernel = 5;
  pool.stride = 3;
  encoder.projections.push_back(pool);
  Projection biased = encoder.projections[0];
  biased.bias = tiny.builder.add_floats("compress.bias", {6}, std::vector<float>(6, 0.5f));
  biased.bias_per_row = true;
  encoder.projections.push_back(biased);
  model.mlm.activation = Activation::gelu_tanh;
  model.heads[1].activation = Activation::sigmoid;
  TokenizerDescription& t = model.tokenizer;
  t.add_prefix_space = t.trim_offsets = t.lowercase = t.strip_accents = t.clean_text = t.split_cjk = true;
  t.continuing_prefix = "##";
  t.max_word_characters = 7;
  t.pair_types = {0, 0, 0, 1, 1, 1};
  t.added_tokens[0].single_word = t.added_tokens[0].strip_right = t.added_tokens[0].normalized = true;

  const writer::AlignedBytes bytes = tiny.builder.serialize();
  const auto loaded = Model::load(bytes);
  CAPTURE(std::string(loaded.status().message()));
  REQUIRE(loaded.ok());
  CHECK(linformer_test::difference(loaded.value()->description(), model) == "");
}
