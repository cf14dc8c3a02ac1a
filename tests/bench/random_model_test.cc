// Tests the models of `linformer bench --random`.
#include "bench/random_model.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "base/description.h"
#include "bench/measure.h"

namespace linformer_test::random_model_test {
namespace {

using linformer::ElementType;
using linformer::bench::ModelShape;
using linformer::bench::TemporaryModel;

ModelShape tiny(uint32_t n, uint32_t k) {
  ModelShape shape = linformer::bench::shape_of("tiny");
  shape.n = n;
  shape.k = k;
  return shape;
}

TEST_CASE("random models of every precision and kind of attention are valid") {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    for (const uint32_t k : {0u, 12u}) {
      CAPTURE(static_cast<int>(type));
      CAPTURE(k);
      const TemporaryModel file(tiny(40, k), type);
      const auto model = linformer::Model::load(file.path().c_str());
      REQUIRE(model.ok());
      CHECK((*model)->verify().ok());
      CHECK((*model)->description().encoder.max_tokens == 40);
      CHECK((*model)->description().encoder.layers.size() == 2);
      const bool compressed = (*model)->description().encoder.projections[0].kind == linformer::ProjectionKind::linear;
      CHECK(compressed == (k != 0));
    }
  }
}

TEST_CASE("a temporary model leaves no file behind") {
  std::string path;
  {
    const TemporaryModel file(tiny(8, 4), ElementType::f32);
    path = file.path();
    // The file has no name while it is still open.
    const std::string target = std::filesystem::read_symlink("/proc/self/fd/" + path.substr(8)).string();
    CHECK(target.find("(deleted)") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(target.substr(0, target.find(" (deleted)"))));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("the weights that a call reads depend on the number of tokens and the type") {
  // Two layers with 4 d^2 + 2 d ffn weights each. E adds one column for each token.
  const uint64_t of_layers = 2 * (4 * 128 * 128 + 2 * 128 * 512);
  const auto bytes = [](ElementType type, uint32_t k, int64_t tokens) {
    const TemporaryModel file(tiny(64, k), type);
    return linformer::bench::encoder_weight_bytes(**linformer::Model::load(file.path().c_str()), tokens);
  };
  CHECK(bytes(ElementType::f32, 16, 64) == 4 * (of_layers + 16 * 64));
  CHECK(bytes(ElementType::f32, 16, 32) == 4 * (of_layers + 16 * 32));
  CHECK(bytes(ElementType::bf16, 0, 64) == 2 * of_layers);
  CHECK(bytes(ElementType::int8, 0, 64) > of_layers);  // The scales and sums add to the weights.
  CHECK(bytes(ElementType::int8, 0, 64) < of_layers * 21 / 20);
}

TEST_CASE("a case of `linformer bench` is measured") {
  const TemporaryModel file(tiny(32, 8), ElementType::int8);
  linformer::bench::Case what;
  what.model = file.path();
  what.tokens = 32;
  what.batch = 3;
  what.seconds = 0;
  const linformer::bench::Measurement m = linformer::bench::measure(what);
  CHECK(m.calls == what.least_calls);
  CHECK(m.min_ms > 0);
  CHECK(m.min_ms <= m.median_ms);
  CHECK(m.median_ms <= m.p99_ms);
  CHECK(m.compute == ElementType::int8);
  CHECK(m.arena_bytes >= m.used_bytes);
  CHECK(m.model_bytes == std::filesystem::file_size(file.path()));
  what.tokens = 33;
  CHECK_THROWS_WITH(linformer::bench::measure(what), (what.model + " takes at most 32 tokens, not 33").c_str());
}

}  // namespace
}  // namespace linformer_test::random_model_test
