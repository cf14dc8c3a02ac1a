// linformer-bench: time, memory and arithmetic rate of a model beside what the machine can do.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <vector>

#include "bench/child.h"
#include "bench/fma_limit.h"
#include "bench/made_model.h"
#include "linformer/model.h"

namespace linformer::bench {
namespace {

struct Options {
  std::string model, random, keep, dtype = "f32";
  std::vector<int64_t> tokens = {512, 1024, 4096};
  uint32_t k = 128;
  std::vector<std::string> backends = {"all"}, isas = {"automatic"};
  int threads = 1;
  int64_t batch = 1;
  double seconds = 2;
  bool json = false;
};

struct Row {
  Case what;
  std::optional<Measurement> measurement;
  std::string error;
};

template <class Enum>
Enum by_name(const std::string& name, std::initializer_list<Enum> values, const char* what) {
  for (Enum value : values) {
    if (name == name_of(value)) return value;
  }
  throw std::runtime_error("there is no " + std::string(what) + " " + name);
}

std::vector<BackendKind> backends_of(const Options& options) {
  const auto all = {BackendKind::native, BackendKind::onednn, BackendKind::openblas};
  std::vector<BackendKind> chosen;
  for (const std::string& name : options.backends) {
    if (name == "all") return all;
    chosen.push_back(by_name(name, all, "backend"));
  }
  return chosen;
}

std::vector<Isa> isas_of(const Options& options) {
  std::vector<Isa> chosen;
  for (const std::string& name : options.isas) {
    chosen.push_back(
        by_name(name, {Isa::automatic, Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}, "instruction set"));
  }
  return chosen;
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

std::vector<Row> measure_all(const Options& options, const std::string& model) {
  std::vector<Row> rows;
  for (const BackendKind backend : backends_of(options)) {
    for (const Isa isa : isas_of(options)) {
      for (const int64_t tokens : options.tokens) {
        Row row;
        row.what = {model, backend, isa, options.threads, tokens, options.batch, options.seconds};
        if (!options.json) {
          std::fprintf(stderr, "measuring %s, n = %lld ...\n", name_of(backend), static_cast<long long>(tokens));
        }
        try {
          row.measurement = measure_in_child(row.what);
        } catch (const std::exception& error) {
          row.error = error.what();
        }
        rows.push_back(row);
      }
    }
  }
  return rows;
}

double rate(const Measurement& m) { return m.gigaflop / m.median_ms * 1e3; }

void print_table(const std::vector<Row>& rows, const Options& options, double limit) {
  std::printf("%s, %d threads, f32 limit %.0f GFLOP/s (%s, registers only)\n", processor().c_str(), options.threads,
              limit, name_of(widest_isa()));
  std::printf("%s, weights %s, %lld text(s) in a call, times in ms\n\n",
              options.random.empty() ? options.model.c_str()
                                     : ("random " + options.random + ", k " + std::to_string(options.k)).c_str(),
              options.random.empty() ? "as in the file" : options.dtype.c_str(), static_cast<long long>(options.batch));
  std::printf("%-9s %-7s %6s %10s %10s %10s %9s %9s %7s %9s %9s\n", "backend", "isa", "n", "min", "median", "p90",
              "GFLOP", "GFLOP/s", "limit", "arena MB", "peak MB");
  for (const Row& row : rows) {
    std::printf("%-9s ", name_of(row.what.backend));
    if (!row.measurement) {
      std::printf("%-7s %6lld  %s\n", name_of(row.what.isa), static_cast<long long>(row.what.tokens),
                  row.error.c_str());
      continue;
    }
    const Measurement& m = *row.measurement;
    std::printf("%-7s %6lld %10.2f %10.2f %10.2f %9.1f %9.1f %6.1f%% %9.2f %9.1f\n", m.isa.c_str(),
                static_cast<long long>(row.what.tokens), m.min_ms, m.median_ms, m.p90_ms, m.gigaflop, rate(m),
                100 * rate(m) / limit, static_cast<double>(m.arena_bytes) / 1e6,
                static_cast<double>(m.peak_bytes) / 1e6);
  }
  std::printf(
      "\nGFLOP/s and its share of the limit are of the median. Peak: the process's resident set with the mapped "
      "model's pages.\n");
}

void print_json(const std::vector<Row>& rows, const Options& options, double limit) {
  nlohmann::json results = nlohmann::json::array();
  for (const Row& row : rows) {
    nlohmann::json result = row.measurement ? nlohmann::json(*row.measurement) : nlohmann::json{{"error", row.error}};
    result["backend"] = name_of(row.what.backend);
    result["tokens"] = row.what.tokens;
    if (row.measurement) {
      result["gflops"] = rate(*row.measurement);
      result["share_of_limit"] = rate(*row.measurement) / limit;
    }
    results.push_back(result);
  }
  const nlohmann::json out = {
      {"processor", processor()},  {"threads", options.threads},
      {"batch", options.batch},    {"model", options.random.empty() ? options.model : "random " + options.random},
      {"f32_limit_gflops", limit}, {"f32_limit_isa", name_of(widest_isa())},
      {"results", results}};
  std::printf("%s\n", out.dump(2).c_str());
}

int run(const Options& options) {
  std::optional<MadeModel> made;
  if (!options.random.empty()) {
    const auto longest = *std::max_element(options.tokens.begin(), options.tokens.end());
    const ElementType type = by_name(options.dtype, {ElementType::f32, ElementType::bf16, ElementType::f16}, "dtype");
    if (!options.json) std::fprintf(stderr, "writing a random model ...\n");
    made.emplace(options.random, static_cast<uint32_t>(longest), options.k, type, options.keep);
  }
  const double limit = measure_f32_limit(options.threads);
  const std::vector<Row> rows = measure_all(options, made ? made->path() : options.model);
  options.json ? print_json(rows, options, limit) : print_table(rows, options, limit);
  const bool any = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.measurement.has_value(); });
  return any ? 0 : 1;
}

int main(int count, char** arguments) {
  if (count == 3 && std::string(arguments[1]) == case_option) return run_case(arguments[2]);
  CLI::App app("Measures a model's time, memory and arithmetic rate beside the machine's f32 limit.");
  Options options;
  app.add_option("model", options.model, "a .lnfr file")->check(CLI::ExistingFile);
  app.add_option("--random", options.random, "instead of a file: random weights of size base or small")
      ->check(CLI::IsMember({"base", "small"}));
  app.add_option("--k", options.k, "compressed rows of the random model; 0: full attention")
      ->check(CLI::Range(0, 1 << 16));
  app.add_option("--dtype", options.dtype, "weights of the random model: f32, bf16, f16");
  app.add_option("--keep", options.keep, "write the random model here and leave it");
  app.add_option("--n", options.tokens, "tokens of a text, several by commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--batch", options.batch, "texts in a call")->check(CLI::Range(1, 1 << 12));
  app.add_option("--backend", options.backends, "native, onednn, openblas or all")->delimiter(',');
  app.add_option("--isa", options.isas, "automatic, scalar, avx2, avx512, neon")->delimiter(',');
  app.add_option("--threads", options.threads, "threads of a session")->check(CLI::Range(1, 256));
  app.add_option("--seconds", options.seconds, "time to measure each case for, at least")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_flag("--json", options.json, "one JSON object instead of a table");
  CLI11_PARSE(app, count, arguments);
  if (options.model.empty() == options.random.empty()) {
    std::fprintf(stderr, "give a model file or --random base, not both\n");
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "linformer-bench: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace linformer::bench

int main(int count, char** arguments) { return linformer::bench::main(count, arguments); }
