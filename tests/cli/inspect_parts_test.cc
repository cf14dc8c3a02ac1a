// Tests what `linformer inspect` says about parts that fairseq's Linformer doesn't have.
#include <doctest/doctest.h>

#include "base/description.h"
#include "process.h"
#include "sentiment_model.h"
#include "support/random_model.h"

namespace linformer_test::inspect_parts_test {

using namespace linformer;
using nlohmann::json;

namespace {

class Inspected : public Folder {
 public:
  explicit Inspected(writer::ModelBuilder& builder) {
    builder.write(path("m.lnfr"));
    const Ran ran = run({"inspect", path("m.lnfr")});
    CHECK(ran.code == 0);
    text = ran.out;
    data = json::parse(run({"inspect", path("m.lnfr"), "--json"}).out);
  }
  void has(const std::string& part) const {
    CAPTURE(text);
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  void lacks(const std::string& part) const {
    CAPTURE(text);
    CAPTURE(part);
    CHECK(text.find(part) == std::string::npos);
  }
  std::string text;
  json data;
};

RandomModel shape_of(uint32_t layers) {
  RandomModel shape;
  shape.layers = layers;
  return shape;
}

}  // namespace

TEST_CASE("inspect: full attention is not called a projection") {
  writer::ModelBuilder builder = random_builder(shape_of(3));
  EncoderDescription& e = builder.description.encoder;
  Projection none;
  none.kind = ProjectionKind::none;
  e.projections = {none};
  for (LayerDescription& layer : e.layers) {
    layer.attention.key_projections = layer.attention.value_projections = {0};
    layer.attention.row_mask = RowMask::excluded;
  }
  const Inspected m(builder);
  m.has("projection    none (full attention)\n");
  m.has("masked rows left out");
  m.lacks("sharing");
  CHECK(m.data["sharing"].is_null());
  CHECK(m.data["layers"][1]["full_attention"] == true);
  CHECK(m.data["layers"][1]["row_mask"] == "excluded");
}

TEST_CASE("inspect: if k differs between layers or heads, each k is shown") {
  writer::ModelBuilder builder = random_builder(shape_of(4));
  EncoderDescription& e = builder.description.encoder;
  const auto add = [&](uint32_t k) {
    Projection p;
    p.k = k;
    p.weight = builder.add_floats("E" + std::to_string(e.projections.size()), {k, e.max_tokens},
                                  std::vector<float>(size_t{k} * e.max_tokens, 0.1f));
    e.projections.push_back(p);
    return static_cast<uint32_t>(e.projections.size() - 1);
  };
  e.projections.clear();
  const uint32_t small = add(4), large = add(8), largest = add(16);
  for (size_t i = 0; i < 4; ++i) {
    AttentionDescription& attention = e.layers[i].attention;
    attention.key_projections = attention.value_projections = {i < 2 ? large : small};
  }
  {
    const Inspected m(builder);
    m.has("layers 1 to 2: linear, k = 8, before the key and value linears; layers 3 to 4: linear, k = 4, before");
    m.has("2 projections, shared by heads, keys and values");
    m.lacks("keys and values, layers");
  }
  for (LayerDescription& layer : e.layers) {
    layer.attention.key_projections = layer.attention.value_projections = {small, large, large, largest};
  }
  const Inspected m(builder);
  m.has("linear, k = 4, 8, 8, 16 by head, before");
  m.has("3 projections, shared by keys and values, layers");
}

TEST_CASE("inspect: if values are the keys, they share the projections of the keys") {
  RandomModel shape = shape_of(2);
  shape.value_is_key = shape.shared_layers = true;
  SUBCASE("the file lists no projections of values") {}
  SUBCASE("the file lists the keys' projections for the values too") { shape.list_values_of_keys = true; }
  writer::ModelBuilder builder = random_builder(shape);
  const EncoderDescription& e = builder.description.encoder;
  REQUIRE(e.layers[0].attention.value_projections.empty() == !shape.list_values_of_keys);
  const Inspected m(builder);
  m.has("values are the keys");
  m.has("sharing       1 projection, shared by heads, keys and values, layers\n");
  CHECK(m.data["sharing"]["distinct_projections"] == 1);
  CHECK(m.data["sharing"]["keys_and_values"] == true);
  for (const char* option : {"--plan", "--memory"}) {
    CAPTURE(option);
    CHECK(run({"inspect", m.path("m.lnfr"), option, "20"}).code == 0);
  }
}

TEST_CASE("inspect: full attention in only some heads is described, and --plan refuses it") {
  RandomModel shape = shape_of(2);
  shape.each_head = shape.mixed_kinds = true;
  shape.kinds = {ProjectionKind::linear, ProjectionKind::none};  // the second layer's first head has full attention
  writer::ModelBuilder builder = random_builder(shape);
  const Inspected m(builder);
  m.has("layer 1: linear and none (full attention), k = 12, 0, 12, 0 by head, before");
  m.has("layer 2: linear and none (full attention), k = 0, 12, 0, 12 by head, before");
  m.lacks("windows");
  CHECK(m.data["layers"][1]["full_attention"] == false);
  const Ran ran = run({"inspect", m.path("m.lnfr"), "--plan"});
  CHECK(ran.code == 1);
  CHECK(ran.err.find("full attention in some of its heads only") != std::string::npos);
}

TEST_CASE("inspect: heads, token types, the embedding and the mask token are described") {
  const CliFixture f({.more_heads = true, .token_types = true, .embedding = true});
  const std::string text = run({"inspect", f.model()}).out;
  for (const char* part :
       {"better: 2 classes (first, second), one of them (softmax), pooling mean, compares two texts",
        "pooling none (each token)", "2 token types", "pooling mean, divided by its length", "mask id 4",
        "input         tokens", "head, tied to the embedding, straight from the rows"}) {
    CAPTURE(text);
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  const json data = json::parse(run({"inspect", f.model(), "--json"}).out);
  CHECK(data["heads"][2]["compares_two_texts"] == true);
  CHECK(data["heads"][0]["compares_two_texts"] == false);
  CHECK(data["token_types"] == 2);
  CHECK(data["embedding"]["normalize"] == true);
  CHECK(data["tokenizer"]["mask_id"] == 4);
  CHECK(data["decoder"].is_null());
  const CliFixture plain;
  CHECK(run({"inspect", plain.model()}).out.find("not said (embed --pooling chooses)") != std::string::npos);
}

TEST_CASE("inspect: a model that reads vectors is described without advice about texts") {
  const CliFixture f({.vectors = true});
  const std::string text = run({"inspect", f.model()}).out;
  CHECK(text.find("vectors of 16, with a learned row put before them") != std::string::npos);
  // Advice for models that read texts must not appear.
  CHECK(text.find("--tokenizer") == std::string::npos);
  CHECK(text.find("embed --pooling") == std::string::npos);
  CHECK(text.find("none: the model reads vectors (classify and encode: --vectors FILE.npy)") != std::string::npos);
  CHECK(text.find("not said (encode --vectors FILE.npy --what pooled)") != std::string::npos);
  CHECK(text.find("vocabulary") == std::string::npos);
  CHECK(text.find("no head") != std::string::npos);
  const json data = json::parse(run({"inspect", f.model(), "--json"}).out);
  CHECK(data["input"] == "vectors");
  CHECK(data["vector_width"] == 16);
  CHECK(data["prefix"] == "row");
}

}  // namespace linformer_test::inspect_parts_test
