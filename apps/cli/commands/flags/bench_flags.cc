#include "commands/flags/bench_flags.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "answers/output.h"
#include "bench/random_model.h"
#include "command_line/errors.h"
#include "files/output_target.h"
#include "input/bytes/file_kind.h"
#include "linformer/session_options.h"

namespace linformer::cli {
namespace {

constexpr uint64_t most_bytes_of_call = uint64_t{1} << 40;  // The limit of the token ids of a call, in bytes.

// Throws UsageError if `path` can't be a file, and DataError if it is an existing file that is not a model. Only a
// model may be overwritten.
void check_saved(const std::string& path) {
  std::error_code error;
  if (files::output_target(path).kind != files::OutputTarget::Kind::file) {
    throw UsageError("--save " + path + ": give a file's path");
  }
  if (!std::filesystem::exists(path, error)) return;
  std::array<char, model_magic.size()> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  if (std::string_view(start.data(), start.size()) == model_magic) return;
  throw DataError("--save " + path + " exists and is not a model file: give another name");
}

}  // namespace

void BenchFlags::add_to(CLI::App* command) {
  command->add_option("MODEL", models, "Model files (.lnfr)")->type_name("");
  CLI::Option* const random_option =
      command->add_option("--random", random, "Instead of files: random weights of size tiny, small, base or large")
          ->type_name("SIZE")
          ->check(CLI::IsMember(bench::size_names()));
  command->add_option("--k", ks, "Compressed keys of a random model, several separated by commas; 0: full attention")
      ->type_name("K,..")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str()
      ->needs(random_option);
  command
      ->add_option("--window", window,
                   "Rows on each side that a row of a random model attends to, in addition to the compressed keys; 0: "
                   "none, or all rows with full attention")
      ->type_name("W")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str()
      ->needs(random_option);
  command
      ->add_option("--dtype", dtypes,
                   "Types of the weights of random models: f32, bf16, f16, int8; default: f32,bf16,int8, with --paper "
                   "f32,int8; on a GPU f16 instead of int8")
      ->type_name("TYPE,..")
      ->delimiter(',')
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}));
  command->add_option("--save", save, "Write the random model to this file and keep the file")->type_name("FILE");
  command
      ->add_option("--n", tokens,
                   "Tokens of each text, several lengths separated by commas; default: the model file's limit, or 512")
      ->type_name("N,..")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}));
  command->add_option("--batch", batches, "Texts in a call, several numbers separated by commas")
      ->type_name("N,..")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 16))
      ->capture_default_str();
  command
      ->add_option("--seconds", seconds,
                   "Time to measure each case and the machine's limits; at least 5 calls are measured if they take no "
                   "longer than 5 times S")
      ->type_name("S")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_flag("--profile", profile, "Print the time of each op too, measured in further calls");
  command->add_flag("--json", json, "One JSON object instead of a table");
  command->add_option("--threads", threads, "Threads; default: as many as affinity and CPU quota allow")
      ->type_name("N")
      ->check(CLI::Range(1, int{CpuOptions::max_threads}))
      ->group("Running");
  command->add_option("--backend", backends, "native, onednn or openblas, several separated by commas")
      ->type_name("NAME,..")
      ->delimiter(',')
      ->check(CLI::IsMember({"native", "onednn", "openblas"}))
      ->capture_default_str()
      ->group("Running");
  add_device_option(command, &device);
  add_isa_option(command, &isa);
  precision.add_to(command);
  CLI::Option* const paper_option = command
                                        ->add_flag("--paper", paper,
                                                   "Measure the Linformer paper's efficiency tables and figure; its "
                                                   "own numbers are shown beside the measured ones")
                                        ->group("Paper");
  for (const char* name : {"--n", "--batch", "--seconds", "--profile"})
    paper_option->excludes(command->get_option(name));
  command
      ->add_option("--minutes", minutes,
                   "Limit of the time of all cells; a cell that would take longer is left out, and the output names it")
      ->type_name("M")
      ->needs(paper_option)
      ->check(CLI::Range(0.0, 10000.0))
      ->capture_default_str()
      ->group("Paper");
  command->add_option("--longest", longest, "Longest text in tokens")
      ->type_name("N")
      ->needs(paper_option)
      ->check(CLI::Range(int64_t{512}, int64_t{bench::paper_lengths.back()}))
      ->capture_default_str()
      ->group("Paper");
  command
      ->add_option(
          "--call-tokens", call_tokens,
          "Least number of tokens in a call, which gets as many texts as that needs; default: 4096, on a GPU 65536")
      ->type_name("N")
      ->needs(paper_option)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24))
      ->group("Paper");
  command->add_option("--csv", csv, "Write all cells as CSV")->type_name("FILE")->group("Paper");
  command->add_option("--svg", svg, "Write the figure as SVG")->type_name("FILE")->group("Paper");
  // This hidden option makes this program measure one case. `linformer bench` starts itself with it.
  command->add_option("--case", measured_case, "")->group("");
}

void BenchFlags::check() const {
  if (std::isnan(seconds) || std::isnan(minutes)) {
    throw UsageError(std::string(std::isnan(seconds) ? "--seconds" : "--minutes") + " is not a number");
  }
  const int kinds = (models.empty() ? 0 : 1) + (random.empty() ? 0 : 1) + (paper ? 1 : 0);
  if (kinds != 1) throw UsageError("give either model files, --random SIZE or --paper; see 'linformer bench --help'");
  if (!paper && !(csv.empty() && svg.empty())) throw UsageError("--csv and --svg go with --paper");
  if (random.empty() && !paper && !dtypes.empty()) {
    throw UsageError(
        "--dtype goes with --random and --paper; a model file has its own types, and --compute f32 converts them");
  }
  if (!save.empty() && (random.empty() || ks.size() * dtypes.size() != 1)) {
    throw UsageError("--save goes with --random SIZE, one --dtype and one --k");
  }
  if (!save.empty()) check_saved(save);
  if ((paper || !random.empty()) && !bench::can_make_models()) {
    throw DataError("random models need the converter, which this build leaves out; give a model file");
  }
  const auto to_output = [](const std::string& path) { return files::is_standard_output(path) ? 1 : 0; };
  if (to_output(csv) + to_output(svg) + (json ? 1 : 0) > 1) {
    throw UsageError("only one of --json, --csv and --svg can go to standard output");
  }
  check_outputs(models, {{"--save", save, files::FileFormat::model},
                         {"--csv", csv, files::FileFormat::csv},
                         {"--svg", svg, files::FileFormat::svg}});
  for (const int64_t n : tokens) {
    for (const int64_t batch : batches) {
      if (static_cast<uint64_t>(n) * static_cast<uint64_t>(batch) > most_bytes_of_call / sizeof(int32_t)) {
        throw UsageError("--n " + std::to_string(n) + " with --batch " + std::to_string(batch) +
                         " is more than a call can hold; lower one");
      }
    }
  }
  if (paper && backends.size() > 1) throw UsageError("--paper takes one --backend");
}

}  // namespace linformer::cli
