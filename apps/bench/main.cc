// linformer-bench: time, memory and arithmetic rate of a model beside what the machine can do.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "bench/child.h"
#include "bench/fma_limit.h"
#include "bench/made_model.h"
#include "help_formatter.h"
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

int complain(int code, const std::string& sentence) {
  std::fprintf(stderr, "linformer-bench: %s\n", sentence.c_str());
  return code;
}

// What is being done, where somebody watches.
void announce(const std::string& what) {
  if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "%s ...\n", what.c_str());
}

std::vector<Row> measure_all(const Options& options, const std::string& model) {
  std::vector<Row> rows;
  for (const BackendKind backend : backends_of(options)) {
    for (const Isa isa : isas_of(options)) {
      for (const int64_t tokens : options.tokens) {
        Row row;
        row.what = {model, backend, isa, options.threads, tokens, options.batch, options.seconds};
        announce("measuring " + std::string(name_of(backend)) + ", n = " + std::to_string(tokens));
        try {
          row.measurement = measure_in_child(row.what);
        } catch (const std::exception& error) {
          row.error = error.what();
          if (!options.json) complain(0, row.error);
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
      std::printf("%-7s %6lld  not measured\n", name_of(row.what.isa), static_cast<long long>(row.what.tokens));
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
    const ElementType type =
        by_name(options.dtype, {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}, "dtype");
    announce("writing a random model");
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
  CLI::App app("Measures a model's time, memory and arithmetic rate beside the machine's f32 limit.",
               "linformer-bench");
  app.set_version_flag("--version", "linformer-bench " LINFORMER_VERSION);
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(30);
  app.formatter(formatter);
  Options options;
  app.add_option("MODEL", options.model, "Model file (.lnfr)")->type_name("")->check(CLI::ExistingFile);
  app.add_option("--random", options.random, "Instead of a file: random weights of size base or small")
      ->type_name("SIZE")
      ->check(CLI::IsMember({"base", "small"}));
  app.add_option("--k", options.k, "Compressed rows of the random model; 0: full attention")
      ->type_name("K")
      ->check(CLI::Range(0, 1 << 16));
  app.add_option("--dtype", options.dtype, "Weights of the random model: f32, bf16, f16 or int8")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}));
  app.add_option("--keep", options.keep, "Write the random model here and leave it")->type_name("FILE");
  app.add_option("--n", options.tokens, "Tokens of a text, several by commas")
      ->type_name("N,..")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--batch", options.batch, "Texts in a call")->type_name("N")->check(CLI::Range(1, 1 << 12));
  app.add_option("--backend", options.backends, "native, onednn, openblas or all, several by commas")
      ->type_name("NAME,..")
      ->delimiter(',')
      ->check(CLI::IsMember({"native", "onednn", "openblas", "all"}));
  app.add_option("--isa", options.isas, "automatic, scalar, avx2, avx512 or neon, several by commas")
      ->type_name("NAME,..")
      ->delimiter(',')
      ->check(CLI::IsMember({"automatic", "scalar", "avx2", "avx512", "neon"}));
  app.add_option("--threads", options.threads, "Threads of a session")->type_name("N")->check(CLI::Range(1, 256));
  app.add_option("--seconds", options.seconds, "Time to measure each case for, at least")
      ->type_name("S")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_flag("--json", options.json, "One JSON object instead of a table");
  app.footer(
      "Each case runs in a process of its own, so that its peak memory is its own.\n\n"
      "Examples:\n"
      "  linformer-bench --random base --k 128 --n 512,1024,4096 --backend all --threads 2\n"
      "  linformer-bench model.lnfr --n 256 --batch 8 --json\n\n"
      "Exit status: 0 measured, 1 nothing could be measured, 2 usage.\n");
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain(2, std::string(error.what()) + "; see 'linformer-bench --help'");
  }
  if (options.model.empty() == options.random.empty()) {
    return complain(2, "give either a model file or --random base; see 'linformer-bench --help'");
  }
  if (const Status isa = isa_from_environment().status(); !isa.ok()) return complain(2, isa.message());
  try {
    return run(options);
  } catch (const std::exception& error) {
    return complain(1, error.what());
  }
}

}  // namespace
}  // namespace linformer::bench

int main(int count, char** arguments) { return linformer::bench::main(count, arguments); }
