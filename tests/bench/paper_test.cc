// Computes the ratios and the growth of `linformer bench --paper` from invented measurements.
#include "bench/paper.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace linformer_test::paper_test {
namespace {

using namespace linformer::bench;

PaperCell cell(uint32_t n, uint32_t k, double ms, uint64_t arena, int64_t batch = 1) {
  PaperCell made{n, k, batch, Measurement{}, {}};
  made.measurement->median_ms = ms;
  made.measurement->arena_bytes = arena;
  return made;
}

TEST_CASE("time and memory saved are computed per text") {
  PaperRun run;
  run.cells = {cell(512, 0, 80, 4000, 8), cell(512, 128, 20, 1000, 4), {1024, 128, 1, {}, "no time"}};
  CHECK(*run.time_saved(512, 128) == 2);
  CHECK(*run.memory_saved(512, 128) == 2);
  const double held = 4.0 * 12 * 512 * 512;  // The bytes of one layer's attention matrices.
  CHECK(*run.memory_saved_if_scores_stored(512, 128) == (500 + held) / 250);
  CHECK_FALSE(run.time_saved(512, 256));
  CHECK_FALSE(run.time_saved(1024, 128));
  CHECK(run.find(1024, 128) == nullptr);
}

TEST_CASE("growth is the exponent that fits best") {
  PaperRun run;
  for (const uint32_t n : paper_lengths) {
    run.cells.push_back(cell(n, 0, 1e-4 * n * n, 4 * n));
    run.cells.push_back(cell(n, 128, 2e-3 * n * 4, 3 * n * 4, 4));
  }
  CHECK(*run.time_growth_exponent(0) == doctest::Approx(2));
  CHECK(*run.time_growth_exponent(128) == doctest::Approx(1));
  CHECK(*run.memory_growth_exponent(128) == doctest::Approx(1));
  CHECK_FALSE(run.time_growth_exponent(256));
}

TEST_CASE("the paper's numbers are those of its tables") {
  CHECK(paper_time_saved(0, 0) == 1.5);
  CHECK(paper_time_saved(7, 4) == 7.9);
  CHECK(paper_memory_saved(7, 0) == 60);
  CHECK(paper_memory_saved(0, 2) == 0);
}

TEST_CASE("with a time limit of 0 minutes no cell is measured, and each gives that reason") {
  PaperOptions options;
  options.minutes = 0;
  Limits limits;
  limits.f32.giga = 100;
  int announced = 0;
  const std::vector<PaperRun> runs = run_paper(options, limits, [&](const std::string&) { ++announced; });
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].cells.size() == 8 + 2 + 3 + 4 + 5 * 5);  // The Transformers, and the cells of the paper's table.
  CHECK(announced == 2 * 42);
  for (const PaperCell& one : runs[1].cells) CHECK(one.left_out == "more than the minutes given");
}

TEST_CASE("at each n the Transformer is measured before the Linformers that are compared with it") {
  PaperOptions options;
  options.minutes = 0;
  Limits limits;
  limits.f32.giga = 100;
  std::vector<std::string> order;
  run_paper(options, limits, [&](const std::string& what) { order.push_back(what.substr(what.find(": ") + 2)); });
  REQUIRE(order.size() == 2 * 42);
  CHECK(order[0] == "f32, n 512, Transformer");
  CHECK(order[1] == "f32, n 512, k 128");
  CHECK(order[3] == "int8, n 512, Transformer");
  CHECK(order[6] == "f32, n 1024, Transformer");
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t k = order[i].find("k ");
    if (k == std::string::npos) continue;
    CAPTURE(order[i]);
    const std::string baseline = order[i].substr(0, k) + "Transformer";
    CHECK(std::find(order.begin(), order.begin() + static_cast<int64_t>(i), baseline) !=
          order.begin() + static_cast<int64_t>(i));
  }
}

TEST_CASE("a cell that doesn't fit into memory isn't measured, and gives that reason") {
  PaperOptions options;
  options.free_bytes = 1 << 20;
  options.types = {linformer::ElementType::f32};
  Limits limits;
  limits.f32.giga = 1e6;
  const std::vector<PaperRun> runs = run_paper(options, limits, [](const std::string&) {});
  for (const PaperCell& one : runs[0].cells) CHECK(one.left_out == "more than the free memory");
}

}  // namespace
}  // namespace linformer_test::paper_test
