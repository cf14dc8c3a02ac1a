// Tests `linformer bench --device cuda` on the simulated device: the limits of the device, the roofline of a call, and
// the profile by op.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/random_model.h"
#include "linformer/session.h"

namespace linformer_test::bench_test {
namespace {

using namespace linformer;
using bench::Limits;
using bench::Measurement;

bench::ModelShape small_shape() {
  bench::ModelShape shape = bench::shape_of("tiny");
  shape.n = 40;
  shape.k = 8;
  return shape;
}

bench::Case on_device(const std::string& model) {
  bench::Case what;
  what.model = model;
  what.device = 0;
  what.tokens = 40;
  what.batch = 3;
  what.seconds = 0;
  what.least_calls = 2;
  return what;
}

TEST_CASE("the roofline is the sum over the ops of the slower limit") {
  Limits limits;
  limits.f16.giga = 1000;
  limits.f32.giga = 100;
  limits.memory.giga = 10;
  Measurement m;
  m.compute = ElementType::f16;
  CHECK_FALSE(bench::roofline_ms(m, limits));  // A measurement of the CPU has no ops.
  m.ops = {{2000, 1}, {0, 5}, {1000, 30}};
  CHECK(*bench::roofline_ms(m, limits) == doctest::Approx(1e3 * (2 + 0.5 + 3)));
  m.compute = ElementType::f32;
  CHECK(*bench::roofline_ms(m, limits) == doctest::Approx(1e3 * (20 + 0.5 + 10)));
  limits.memory.giga = 0;
  CHECK_FALSE(bench::roofline_ms(m, limits));
}

TEST_CASE("a measurement on a device counts the ops of all texts, and the bytes of weights once") {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const bench::TemporaryModel model(small_shape(), type);
    const Measurement m = bench::measure(on_device(model.path()));
    CHECK(m.compute == type);
    REQUIRE(m.ops.size() > 20);
    double flop = 0, bytes = 0, of_one = 0;
    for (const auto& [gigaflop, gigabytes] : m.ops) {
      CHECK(gigabytes >= 0);
      flop += gigaflop;
      bytes += gigabytes;
    }
    CHECK(flop == doctest::Approx(m.gigaflop));
    bench::Case one = on_device(model.path());
    one.batch = 1;
    for (const auto& [gigaflop, gigabytes] : bench::measure(one).ops) of_one += gigabytes;
    CHECK(bytes < 3 * of_one);
    // Three calls with one text read the weights three times, a call with three texts reads them once.
    const double weights = static_cast<double>(m.weight_bytes) / 1e9;
    CHECK(3 * of_one - bytes >= 2 * weights);
    CHECK(3 * of_one - bytes < 2.5 * weights);
    const nlohmann::json json = m;
    CHECK(json.get<Measurement>().ops == m.ops);
  }
}

TEST_CASE("the measured limits of a device are positive and finite") {
  const Limits limits = bench::measure_device_limits(0, 32);
  for (const bench::Rate* rate : {&limits.f32, &limits.f16, &limits.bf16, &limits.memory}) {
    CHECK(rate->giga > 0);
    CHECK(std::isfinite(rate->giga));
  }
  CHECK(limits.int8.giga == 0);
  CHECK(limits.of(ElementType::f16).giga == limits.f16.giga);
}

TEST_CASE("the profile by op has the operations of whole calls and positive times") {
  bench::Case what;
  const bench::TemporaryModel model(small_shape(), ElementType::f16);
  what = on_device(model.path());
  what.profile = true;
  double seconds = 0, flop = 0;
  int calls = 0;
  const auto describe = [&](const Session& session) -> nlohmann::ordered_json {
    struct Sums {
      double &seconds, &flop;
    } sums{seconds, flop};
    const auto visit = [](void* context, const ProgramLine& line) {
      Sums& to = *static_cast<Sums*>(context);
      to.seconds += line.seconds;
      to.flop += line.flop;
    };
    REQUIRE(session.profile(visit, &sums).ok());
    ++calls;
    return {{"text", "a profile"}};
  };
  const Measurement m = bench::measure(what, describe);
  CHECK(calls == 1);
  CHECK(seconds > 0);
  const double profiled = flop / 1e9 / m.gigaflop;  // The number of calls that the profile covers.
  CHECK(profiled == doctest::Approx(std::round(profiled)));
  CHECK(profiled >= 1);
  CHECK(m.profile.at("text") == "a profile");
}

}  // namespace

}  // namespace linformer_test::bench_test
