// Tests `linformer bench`.
#include <doctest/doctest.h>

#include <filesystem>

#include "bench/report.h"
#include "linformer/build_info.h"
#include "process.h"
#include "research/paper_picture.h"
#include "sentiment_model.h"
#include "support/files.h"

namespace linformer_test::bench_test {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("bench: JSON has a row for each case of a random model") {
  const Ran ran = run({"bench", "--random", "tiny", "--n", "16,8", "--k", "4", "--batch", "1,2", "--dtype", "f32,int8",
                       "--seconds", "0", "--threads", "2", "--json"});
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  const json out = json::parse(ran.out);
  CHECK(out.at("threads") == 2);
  CHECK(out.at("limits").at("f32_gflops") > 0);
  CHECK(out.at("limits").at("memory_gbps") > 0);
  CHECK(out.at("limits").at("most_round_trip_ns") >= out.at("limits").at("least_round_trip_ns"));
  CHECK(out.at("machine").contains("processor"));
  REQUIRE(out.at("results").size() == 8);
  for (const json& row : out.at("results")) {
    CHECK(row.at("min_ms") > 0);
    CHECK(row.at("min_ms") <= row.at("median_ms"));
    CHECK(row.at("median_ms") <= row.at("p99_ms"));
    const double texts = row.at("texts_per_second");
    CHECK(texts * row.at("median_ms").get<double>() / 1e3 == doctest::Approx(row.at("batch").get<double>()));
    CHECK(row.at("tokens_per_second").get<double>() == doctest::Approx(texts * row.at("n").get<double>()));
    CHECK(row.at("share_of_limit") > 0);
    CHECK(row.at("arena_bytes") > 0);
    CHECK(row.at("compute") == row.at("weights"));
  }
  CHECK(out.at("results")[0].at("n") == 16);
  CHECK(out.at("results")[1].at("batch") == 2);
  CHECK(out.at("results")[4].at("weights") == "int8");
}

TEST_CASE("bench: a saved file is measured, with a table and a profile") {
  const Folder folder;
  const std::string model = folder.path("kept.lnfr");
  const Ran made = run({"bench", "--random", "tiny", "--n", "24", "--k", "16", "--dtype", "int8", "--save", model,
                        "--seconds", "0", "--threads", "1"});
  REQUIRE(made.code == 0);
  CHECK(std::filesystem::exists(model));
  const Ran ran = run({"bench", model, "--seconds", "0", "--threads", "1", "--profile"});
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(has(ran.out, "Limits, GFLOP/s from registers: f32 "));
  CHECK(has(ran.out, "kept.lnfr"));
  CHECK(has(ran.out, "GFLOP/s  GB/s"));  // the profile's own table
  const Ran listed = run({"inspect", model, "--plan"});
  CHECK(has(listed.out, "compress_k.weight[16, 24] bf16 x "));  // an int8 file stores E in bf16
  CHECK(has(listed.out, "q_proj.weight[128, 128] int8 panel16"));
  const Ran widened = run({"bench", model, "--seconds", "0", "--threads", "1", "--compute", "f32", "--json"});
  REQUIRE(widened.code == 0);
  const json row = json::parse(widened.out).at("results")[0];
  CHECK(row.at("n") == 24);  // the model's largest number of tokens
  CHECK(row.at("weights") == "int8");
  CHECK(row.at("compute") == "f32");
  CHECK(row.at("precision").get<std::string>().find(": the options ask for f32.") != std::string::npos);
  const Ran forced =
      run({"bench", model, "--seconds", "0", "--threads", "1", "--isa", "scalar", "--attention-compute", "bf16"});
  REQUIRE(forced.code == 0);
  CHECK(has(forced.out, "attention is computed in bf16 (the options ask for it).\n"));
  const Ran refused = run({"bench", model, "--backend", "native,openblas", "--compute", "bf16"});
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "only the native backend multiplies bf16"));
}

TEST_CASE("bench: arguments that can't be measured are refused in one line") {
  const Folder folder;
  const std::string model = folder.path("kept.lnfr");
  REQUIRE(
      run({"bench", "--random", "tiny", "--n", "8", "--k", "4", "--dtype", "f32", "--save", model, "--seconds", "0"})
          .code == 0);
  struct Bad {
    std::vector<std::string> arguments;
    int code;
    std::string says;
  };
  const std::vector<Bad> all = {
      {{}, 2, "give either model files, --random SIZE or --paper"},
      {{model, "--paper"}, 2, "give either model files, --random SIZE or --paper"},
      {{model, "--dtype", "int8"}, 2, "--dtype goes with --random and --paper"},
      {{model, "--save", "other.lnfr"}, 2, "--save goes with --random SIZE"},
      {{"--random", "tiny", "--save", model}, 2, "--save goes with --random SIZE, one --dtype and one --k"},
      {{"--random", "huge"}, 2, "--random"},
      {{model, "--k", "64"}, 2, "--k requires --random"},
      {{model, "--minutes", "1"}, 2, "--minutes requires --paper"},
      {{model, "--longest", "512"}, 2, "--longest requires --paper"},
      {{model, "--call-tokens", "512"}, 2, "--call-tokens requires --paper"},
      {{"--paper", "--call-tokens", "0"}, 2, "--call-tokens"},
      {{"--paper", "--n", "512"}, 2, "--n excludes --paper"},
      {{"--paper", "--batch", "4"}, 2, "--batch excludes --paper"},
      {{"--paper", "--seconds", "1"}, 2, "--seconds excludes --paper"},
      {{"--paper", "--profile"}, 2, "--profile excludes --paper"},
      {{"--paper", "--backend", "native,onednn"}, 2, "--paper takes one --backend"},
      {{"--paper", "--csv", folder.path("none/x.csv")}, 1, "there is no folder"},
      {{"--paper", "--minutes", "nan"}, 2, "--minutes is not a number"},
      {{model, "--seconds", "nan"}, 2, "--seconds is not a number"},
      {{"--random", "tiny", "--dtype", "f32", "--save", "-"}, 2, "--save -: give a file's path"},
      {{"--random", "tiny", "--dtype", "f32", "--save", folder.file("note.txt", "text")},
       1,
       "note.txt exists and is not a model file"},
      {{"--random", "tiny", "--svg", "a.svg"}, 2, "--csv and --svg go with --paper"},
      {{"--paper", "--csv", "-", "--json"}, 2, "only one of --json, --csv and --svg can go to standard output"},
      {{model, "--n", "16777216", "--batch", "65536"}, 2, "is more than a call can hold"},
      {{model, "--n", "9", "--seconds", "0"}, 1, "takes at most 8 tokens, not 9"},
      {{folder.path("none.lnfr")}, 1, "none.lnfr"},
  };
  // A file's name may contain bytes that aren't UTF-8.
  const std::string odd = folder.file("m\xff.lnfr", read_file(model));
  CHECK(run({"bench", odd, "--seconds", "0", "--threads", "1", "--json"}).code == 0);
  for (const Bad& bad : all) {
    std::vector<std::string> arguments = {"bench"};
    arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
    CAPTURE(json(arguments).dump());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == bad.code);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(has(ran.err, bad.says));
  }
}

TEST_CASE("bench: the share of the limit compares the work on weights of each type with the limit of that type") {
  using namespace linformer;
  bench::Report report;
  report.limits.f32.giga = 100;
  report.limits.int8.giga = 1000;
  bench::ReportRow row;
  row.model = "spared";
  row.measurement = bench::Measurement{};
  row.measurement->compute = row.measurement->weights = ElementType::int8;
  row.measurement->median_ms = 100;
  row.measurement->gigaflop = 10;
  row.measurement->gigaflop_of_others[static_cast<size_t>(ElementType::f32)] = 5;
  report.rows = {row};
  CHECK(bench::report_json(report)["results"][0]["share_of_limit"].get<double>() == doctest::Approx(0.55));
  CHECK(has(bench::report_text(report), "int8 and f32"));
  CHECK(has(bench::report_text(report), "55.0 %"));
}

TEST_CASE("bench: a row measured on a device has its roofline time and the share of it that was reached") {
  using namespace linformer;
  bench::Report report;
  report.limits.f16.giga = 1000;
  report.limits.memory.giga = 100;
  bench::ReportRow row;
  row.measurement = bench::Measurement{};
  row.measurement->compute = row.measurement->weights = ElementType::f16;
  row.measurement->median_ms = 100;
  row.measurement->ops = {{20, 0.5}, {0, 4}};
  report.rows = {row};
  CHECK_FALSE(bench::report_json(report)["results"][0].contains("roofline_ms"));
  CHECK_FALSE(has(bench::report_text(report), "roofline"));
  report.rows[0].what.device = 0;
  report.machine.device = "cuda:0";
  const json result = bench::report_json(report)["results"][0];
  CHECK(result["roofline_ms"].get<double>() == doctest::Approx(60));
  CHECK(result["share_of_roofline"].get<double>() == doctest::Approx(0.6));
  CHECK(has(bench::report_text(report), "60.00"));
  CHECK(has(bench::report_text(report), "60.0 %"));
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

TEST_CASE("bench: JSON names the version of the library that multiplied") {
  for (const std::string backend : {"native", "onednn", "openblas"}) {
    CAPTURE(backend);
    const Ran ran = run({"bench", "--random", "tiny", "--n", "8", "--k", "4", "--dtype", "f32", "--seconds", "0",
                         "--threads", "1", "--backend", backend, "--json"});
    if (ran.code != 0) {
      CHECK(has(ran.err, "this build has no "));
      continue;
    }
    const json row = json::parse(ran.out).at("results")[0];
    REQUIRE(row.contains("backend_version") == (backend != "native"));
    if (backend == "native") continue;
    const linformer::Result<linformer::Version> version = linformer::backend_version(
        backend == "onednn" ? linformer::BackendKind::onednn : linformer::BackendKind::openblas);
    REQUIRE(version.ok());
    CHECK(version->major + version->minor > 0);
    CHECK(row.at("backend_version") ==
          std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch));
  }
}

TEST_CASE("bench: a random model takes at least as many tokens as it has compressed rows") {
  const Folder folder;
  const auto most_tokens = [&](const std::string& k, const std::string& n) {
    const std::string kept = folder.path("k" + k + "n" + n + ".lnfr");
    const Ran ran = run({"bench", "--random", "tiny", "--n", n, "--k", k, "--dtype", "f32", "--seconds", "0",
                         "--threads", "1", "--save", kept, "--json"});
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    CHECK(json::parse(ran.out).at("results")[0].at("n") == std::stoi(n));
    return json::parse(run({"inspect", kept, "--json"}).out).at("max_tokens").get<int>();
  };
  CHECK(most_tokens("128", "8") == 128);
  CHECK(most_tokens("4", "8") == 8);
  CHECK(most_tokens("0", "8") == 8);  // full attention
}

TEST_CASE("bench: --window gives a random model a window beside its compressed rows") {
  const Folder folder;
  const std::string kept = folder.path("kept.lnfr");
  const Ran ran = run({"bench", "--random", "tiny", "--n", "40", "--k", "4", "--window", "3", "--dtype", "f32", "--seconds",
                       "0", "--threads", "1", "--save", kept, "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(json::parse(ran.out).at("results")[0].at("model") == "tiny, k 4, window 3");
  CHECK(has(run({"inspect", kept}).out, "a window beside compressed keys"));
}

// With the address sanitizer this takes minutes.
TEST_CASE("bench --paper: cells are measured with the options that are given" * doctest::skip(sanitized)) {
  const Ran ran = run({"bench", "--paper", "--minutes", "10", "--longest", "512", "--dtype", "int8", "--threads", "1",
                       "--compute", "f32", "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const json cells = json::parse(ran.out).at("paper")[0].at("cells");
  REQUIRE(cells.size() == 3);
  for (const json& cell : cells) CHECK(cell.at("compute") == "f32");
  CHECK(cells[1].at("time_saved").at("ours").get<double>() > 0);
}

TEST_CASE("bench --paper: cells that don't fit into --minutes are left blank and reported") {
  const Folder folder;
  const std::string csv = folder.path("paper.csv"), svg = folder.path("paper.svg");
  const Ran ran = run({"bench", "--paper", "--minutes", "0", "--longest", "1024", "--csv", csv, "--svg", svg, "--dtype",
                       "f32", "--threads", "1", "--call-tokens", "3000"});
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(has(ran.out, "Time saved: 0 of 0 measured cells reach the paper's."));
  CHECK(has(ran.out, "Left blank: n 1024, k 512: more than the minutes given"));
  const std::vector<std::string> lines = lines_of(read_file(csv));
  REQUIRE(lines.size() == 1 + 2 + 2 + 3);
  for (const std::string& line : lines) CHECK(std::count(line.begin(), line.end(), ',') == 14);
  CHECK(has(lines[1], ",512,0,5,"));  // a call of 3,000 tokens has five texts of 512
  CHECK(read_file(svg).starts_with("<svg "));
}

TEST_CASE("bench --paper: tables, CSV, JSON and the picture show what was measured") {
  using namespace linformer;
  research::PaperReport report;
  report.machine.processor = "A <processor>";
  bench::PaperRun run{ElementType::f32, {}};
  const auto add = [&](uint32_t n, uint32_t k, double ms) {
    bench::PaperCell cell{n, k, 1, bench::Measurement{}, {}};
    cell.measurement->median_ms = ms;
    cell.measurement->arena_bytes = uint64_t{n} * 1000;
    run.cells.push_back(cell);
  };
  add(512, 0, 30);
  add(512, 128, 15);
  add(512, 256, 25);
  add(1024, 0, 80);
  add(1024, 128, 30);
  run.cells[1].measurement->backend_version = "3.1.0";
  report.runs = {run};
  const std::string text = research::paper_text(report);
  CAPTURE(text);
  // The measured factors are 2.0, 1.2 and 2.7, and the paper's are 1.5, 1.3 and 1.7.
  CHECK(has(text, "Time saved: 2 of 3 measured cells reach the paper's."));
  CHECK(has(text, "Memory saved, beside our Transformer, which holds no attention matrix: 0 of 3"));
  CHECK(has(text, "Linformer, k 128"));
  CHECK(has(text, "n^1.00"));
  const json out = research::paper_json(report).at("paper")[0];
  CHECK(out.at("reached").at("time_saved").at("cells") == 2);
  CHECK(out.at("cells")[1].at("time_saved").at("ours") == 2.0);
  CHECK(out.at("cells")[1].at("backend_version") == "3.1.0");
  CHECK(!out.at("cells")[0].contains("backend_version"));
  CHECK(out.at("cells")[1].at("time_saved").at("paper") == 1.5);
  const std::vector<std::string> lines = lines_of(research::paper_csv(report));
  REQUIRE(lines.size() == 6);
  CHECK(lines[2].starts_with("f32,512,128,1,15,1.92,"));
  const std::string svg = research::paper_svg(report);
  CHECK(has(svg, "A &lt;processor&gt;"));
  CHECK(has(svg, "k 128, paper"));
}

}  // namespace
}  // namespace linformer_test::bench_test
