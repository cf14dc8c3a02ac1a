// Measures models beside the machine's limits, each case in a process of its own.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "answers/output.h"
#include "base/description.h"
#include "base/threads.h"
#include "bench/child.h"
#include "bench/paper.h"
#include "bench/random_model.h"
#include "bench/report.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/run_flags.h"
#include "files/atomic_file.h"
#include "files/write_error.h"
#include "inspect/profile.h"
#include "io/container.h"
#include "models/devices.h"
#include "models/model_file.h"
#include "models/processors.h"
#include "research/paper_picture.h"
#include "research/paper_report.h"

namespace linformer::cli {
namespace {

constexpr uint64_t most_bytes_of_call = uint64_t{1} << 40;  // ids of a call: beyond any machine

struct BenchFlags {
  std::vector<std::string> models;
  std::string random, keep, isa = "automatic", device = "cpu", measured_case, csv, svg;
  PrecisionFlags precision;
  std::vector<std::string> precisions, backends = {"native"};
  std::vector<int64_t> tokens, batches = {1};
  std::vector<uint32_t> ks = {128};
  int threads = 0;
  double seconds = 2, minutes = 30;
  int64_t longest = bench::paper_lengths.back(), call_tokens = 0;
  bool json = false, profile = false, paper = false;
};

ElementType type_of(const std::string& name) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    if (name == linformer::name_of(type)) return type;
  }
  throw UsageError("--precision " + name + ": give f32, bf16, f16 or int8");
}

std::vector<ElementType> types_of(const BenchFlags& flags, const std::vector<std::string>& otherwise) {
  std::vector<ElementType> types;
  for (const std::string& name : flags.precisions.empty() ? otherwise : flags.precisions) {
    types.push_back(type_of(name));
  }
  return types;
}

// What is being done, where somebody watches.
class Announcer {
 public:
  ~Announcer() { clear(); }
  void operator()(const std::string& what) {
    if (!active_) return;
    std::fprintf(stderr, "\r\033[K%s", excerpt(what, terminal_width(STDERR_FILENO, 80) - 1).c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  bool active_ = ::isatty(STDERR_FILENO) != 0, shown_ = false;
};

nlohmann::ordered_json profile_of_case(const Session& session) {
  const std::vector<ProfiledOp> ops = profile_of({&session, 1});
  return {{"text", profile_text(session.plan(), ops)}, {"json", profile_json(session.plan(), ops)}};
}

class Bench {
 public:
  explicit Bench(const BenchFlags& flags) : flags_(flags), device_(parse_device(flags.device)) {
    report_.threads = flags.threads > 0 ? flags.threads : std::min(processors(), int{ThreadTeam::max_threads});
    report_.machine = bench::this_machine();
    // running() throws UsageError where a backend can't compute in the chosen precision.
    for (const std::string& backend : flags.backends) running(backend);
    if (device_ < 0) return;
    try {
      report_.machine.device = bench::device_text(device_);
    } catch (const std::runtime_error& error) {
      throw DataError(error.what());
    }
  }

  int run() {
    measure_limits(flags_.seconds);
    if (flags_.random.empty()) {
      for (const std::string& model : flags_.models) measure_model(std::filesystem::path(model).filename(), model);
    } else {
      measure_random();
    }
    measure_limits(flags_.seconds);  // again: the machine may have been slowed down before
    announce_.clear();
    standard_output().write(flags_.json ? json_text(bench::report_json(report_)) : bench::report_text(report_));
    const bool any = std::any_of(report_.rows.begin(), report_.rows.end(),
                                 [](const bench::ReportRow& row) { return row.measurement.has_value(); });
    if (!any) throw DataError("nothing could be measured: " + report_.rows.front().error);
    return exit_ok;
  }

  int run_paper() {
    // Opened now, not after the minutes.
    std::optional<files::AtomicFile> csv, svg;
    if (!flags_.csv.empty()) csv.emplace(flags_.csv);
    if (!flags_.svg.empty()) svg.emplace(flags_.svg);
    measure_limits(60 * flags_.minutes);
    bench::PaperOptions options;
    options.running = running(flags_.backends.front());
    options.minutes = flags_.minutes;
    options.longest = static_cast<uint32_t>(flags_.longest);
    options.least_tokens = flags_.call_tokens > 0 ? flags_.call_tokens
                           : device_ < 0          ? bench::cpu_tokens
                                                  : bench::gpu_tokens;
    options.types = types_of(
        flags_, device_ < 0 ? std::vector<std::string>{"f32", "int8"} : std::vector<std::string>{"f32", "f16"});
    research::PaperReport paper;
    paper.runs = bench::run_paper(options, report_.limits, [this](const std::string& what) { announce_(what); });
    measure_limits(60 * flags_.minutes);
    announce_.clear();
    paper.machine = report_.machine;
    paper.limits = report_.limits;
    paper.options = options;
    if (!files::is_standard_output(flags_.csv) && !files::is_standard_output(flags_.svg)) {
      standard_output().write(flags_.json ? json_text(research::paper_json(paper)) : research::paper_text(paper));
      standard_output().flush();
    }
    write_file(csv, research::paper_csv(paper));
    write_file(svg, research::paper_svg(paper));
    return exit_ok;
  }

 private:
  static std::string json_text(const nlohmann::ordered_json& json) { return terminal::json_text(json, 2) + "\n"; }

  static void write_file(std::optional<files::AtomicFile>& file, const std::string& content) {
    if (!file) return;
    file->append(content);
    file->commit();
  }

  // Takes no longer than the cases do.
  void measure_limits(double seconds) {
    announce_("measuring the limits");
    const bench::Limits limits =
        device_ < 0 ? bench::measure_limits(report_.threads, seconds) : bench::measure_device_limits(device_);
    if (report_.limits.f32.giga == 0) report_.limits = limits;
    report_.limits.raise(limits);
  }

  void measure_random() {
    const std::vector<int64_t> lengths = this->lengths();
    // A GPU has f16 in the place of int8.
    const std::vector<std::string> defaults = {"f32", "bf16", device_ < 0 ? "int8" : "f16"};
    for (const uint32_t k : flags_.ks) {
      bench::ModelShape shape = bench::shape_of(flags_.random);
      // With fewer positions than k the model would have nothing to project down, and its shortest texts would not
      // run as the short texts of a Linformer do.
      shape.n = std::max(static_cast<uint32_t>(*std::max_element(lengths.begin(), lengths.end())), k);
      shape.k = k;
      const std::string name = flags_.random + (k == 0 ? ", full attention" : ", k " + std::to_string(k));
      for (const ElementType type : types_of(flags_, defaults)) {
        announce_("writing a random model");
        if (!flags_.keep.empty()) {
          bench::write_random_model(shape, type, flags_.keep);
          measure_model(name, flags_.keep);
        } else {
          const bench::TemporaryModel model(shape, type);
          measure_model(name, model.path());
        }
      }
    }
  }

  std::vector<int64_t> lengths() const {
    if (!flags_.tokens.empty()) return flags_.tokens;
    // A file's default is what it takes.
    return flags_.random.empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{512};
  }

  bench::Case running(const std::string& backend) const {
    bench::Case what;
    what.backend = parse_backend(backend);
    what.isa = parse_isa(flags_.isa);
    what.device = device_;
    SessionOptions options;
    options.backend = what.backend;
    options.device = what.device;
    flags_.precision.apply_to(&options);
    what.compute = options.compute;
    what.attention_compute = options.attention_compute;
    what.access = model_access();
    what.threads = report_.threads;
    return what;
  }

  void measure_model(const std::string& name, const std::string& path) {
    for (const std::string& backend : flags_.backends) {
      for (const int64_t tokens : lengths()) {
        for (const int64_t batch : flags_.batches) {
          bench::ReportRow row;
          row.model = name;
          row.what = running(backend);
          row.what.model = path;
          row.what.tokens = tokens;
          row.what.batch = batch;
          row.what.seconds = flags_.seconds;
          row.what.profile = flags_.profile;
          announce_("measuring " + name + (tokens > 0 ? ", n " + std::to_string(tokens) : "") + ", batch " +
                    std::to_string(batch));
          try {
            row.measurement = bench::measure_in_child(row.what);
          } catch (const std::exception& error) {
            row.error = error.what();
          }
          report_.rows.push_back(std::move(row));
        }
      }
    }
  }

  const BenchFlags& flags_;
  const int device_;
  bench::Report report_;
  Announcer announce_;
};

// A model is kept in a file that isn't there yet, or in the place of another model.
void check_kept(const std::string& path) {
  std::error_code error;
  if (files::output_target(path).kind != files::OutputTarget::Kind::file) {
    throw UsageError("--keep " + path + ": give a file's path");
  }
  if (!std::filesystem::exists(path, error)) return;
  std::array<char, sizeof(container_magic)> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  if (std::memcmp(start.data(), container_magic.data(), start.size()) == 0) return;
  throw DataError("--keep " + path + " exists and is no model file: give another name");
}

int bench_command(const BenchFlags& flags) {
  if (!flags.measured_case.empty()) {
    if (flags.models.size() != 1) throw UsageError("--case takes one model");
    return bench::run_case(flags.measured_case, flags.models.front(), profile_of_case);
  }
  if (std::isnan(flags.seconds) || std::isnan(flags.minutes)) {
    throw UsageError(std::string(std::isnan(flags.seconds) ? "--seconds" : "--minutes") + " is not a number");
  }
  const int kinds = (flags.models.empty() ? 0 : 1) + (flags.random.empty() ? 0 : 1) + (flags.paper ? 1 : 0);
  if (kinds != 1) throw UsageError("give either model files, --random SIZE or --paper; see 'linformer bench --help'");
  if (!flags.paper && !(flags.csv.empty() && flags.svg.empty())) throw UsageError("--csv and --svg go with --paper");
  if (flags.random.empty() && !flags.paper && !flags.precisions.empty()) {
    throw UsageError("--precision goes with --random and --paper; a file has its own, and --compute f32 widens it");
  }
  if (!flags.keep.empty() && (flags.random.empty() || flags.ks.size() * flags.precisions.size() != 1)) {
    throw UsageError("--keep goes with --random SIZE, one --precision and one --k");
  }
  if (!flags.keep.empty()) check_kept(flags.keep);
  if ((flags.paper || !flags.random.empty()) && !bench::can_make_models()) {
    throw DataError("random models need the converter, which this build leaves out; give a model file");
  }
  const auto to_output = [](const std::string& path) { return files::is_standard_output(path) ? 1 : 0; };
  if (to_output(flags.csv) + to_output(flags.svg) + (flags.json ? 1 : 0) > 1) {
    throw UsageError("only one of --json, --csv and --svg can go to standard output");
  }
  check_outputs(flags.models, {{"--keep", flags.keep, files::FileFormat::model},
                               {"--csv", flags.csv, files::FileFormat::csv},
                               {"--svg", flags.svg, files::FileFormat::svg}});
  for (const int64_t tokens : flags.tokens) {
    for (const int64_t batch : flags.batches) {
      if (static_cast<uint64_t>(tokens) * static_cast<uint64_t>(batch) > most_bytes_of_call / sizeof(int32_t)) {
        throw UsageError("--n " + std::to_string(tokens) + " with --batch " + std::to_string(batch) +
                         " is more than a call can hold; lower one");
      }
    }
  }
  if (flags.paper && flags.backends.size() > 1) throw UsageError("--paper takes one --backend");
  // Said now, and not once for each case.
  for (const std::string& path : flags.models) {
    const int64_t most = load_model(path)->description().encoder.max_tokens;
    for (const int64_t tokens : flags.tokens) {
      if (tokens > most) {
        throw DataError(path + " takes at most " + std::to_string(most) + " tokens, not " + std::to_string(tokens));
      }
    }
  }
  try {
    Bench bench(flags);
    return flags.paper ? bench.run_paper() : bench.run();
  } catch (const CommandError&) {
    throw;
  } catch (const files::WriteError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw DataError(error.what());  // a sentence of apps/bench
  }
}

void add_options(CLI::App* command, BenchFlags* flags) {
  command->add_option("MODEL", flags->models, "Model files (.lnfr)")->type_name("");
  CLI::Option* const random =
      command
          ->add_option("--random", flags->random, "Instead of files: random weights of size tiny, small, base or large")
          ->type_name("SIZE")
          ->check(CLI::IsMember(bench::size_names()));
  command->add_option("--k", flags->ks, "Compressed rows of a random model, several by commas; 0: full attention")
      ->type_name("K,..")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str()
      ->needs(random);
  command
      ->add_option(
          "--precision", flags->precisions,
          "Weights of random models: f32, bf16, f16, int8; default: f32,bf16,int8, with --paper f32,int8; on a "
          "GPU f16 in the place of int8")
      ->type_name("TYPE,..")
      ->delimiter(',')
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}));
  command->add_option("--keep", flags->keep, "Write the random model to this file and leave it")->type_name("FILE");
  command->add_option("--n", flags->tokens, "Tokens of a text, several by commas; default: what a file takes, or 512")
      ->type_name("N,..")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}));
  command->add_option("--batch", flags->batches, "Texts in a call, several by commas")
      ->type_name("N,..")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 16))
      ->capture_default_str();
  command
      ->add_option("--seconds", flags->seconds,
                   "Time to measure each case for, and the machine's limits; 5 calls at least where they take no longer "
                   "than 5 S")
      ->type_name("S")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_flag("--profile", flags->profile, "Each op's time too, of further calls");
  command->add_flag("--json", flags->json, "One JSON object instead of a table");
  command->add_option("--threads", flags->threads, "Threads; default: as many as affinity and CPU quota allow")
      ->type_name("N")
      ->check(CLI::Range(1, int{ThreadTeam::max_threads}))
      ->group("Running");
  command->add_option("--backend", flags->backends, "native, onednn or openblas, several by commas")
      ->type_name("NAME,..")
      ->delimiter(',')
      ->check(CLI::IsMember({"native", "onednn", "openblas"}))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--device", flags->device, "cpu, or a GPU in a build with CUDA: cuda or cuda:0, cuda:1, ...")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Running");
  command->add_option("--isa", flags->isa, "Instruction set: automatic, scalar, avx2, avx512 or neon")
      ->type_name("NAME")
      ->check(CLI::IsMember({"automatic", "scalar", "avx2", "avx512", "neon"}))
      ->capture_default_str()
      ->group("Running");
  flags->precision.add_to(command);
  CLI::Option* const paper =
      command
          ->add_flag("--paper", flags->paper, "The Linformer paper's efficiency tables and figure, beside its numbers")
          ->group("Paper");
  for (const char* name : {"--n", "--batch", "--seconds", "--profile"}) paper->excludes(command->get_option(name));
  command->add_option("--minutes", flags->minutes, "What would take longer is left out and said")
      ->type_name("M")
      ->needs(paper)
      ->check(CLI::Range(0.0, 10000.0))
      ->capture_default_str()
      ->group("Paper");
  command->add_option("--longest", flags->longest, "Longest text")
      ->type_name("N")
      ->needs(paper)
      ->check(CLI::Range(int64_t{512}, int64_t{bench::paper_lengths.back()}))
      ->capture_default_str()
      ->group("Paper");
  command
      ->add_option(
          "--call-tokens", flags->call_tokens,
          "Least number of tokens of a call, which gets as many texts as needed; default: 4096, on a GPU 65536")
      ->type_name("N")
      ->needs(paper)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24))
      ->group("Paper");
  command->add_option("--csv", flags->csv, "All cells as a table")->type_name("FILE")->group("Paper");
  command->add_option("--svg", flags->svg, "The figure")->type_name("FILE")->group("Paper");
  // A process that measures one case is this program again.
  command->add_option("--case", flags->measured_case, "")->group("");
}

}  // namespace

void add_bench(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("bench", "Measure time and memory beside the machine's limits");
  auto flags = std::make_shared<BenchFlags>();
  add_options(command, flags.get());
  command->footer(
      "Each case runs in a process of its own, so that its peak memory is its own. The limits are measured in the "
      "same\n"
      "run: multiply-adds from registers for each precision, and reading memory. A quiet machine gives steady "
      "figures.\n\n"
      "Examples:\n"
      "  linformer bench model.lnfr\n"
      "  linformer bench model.lnfr --n 64,512 --batch 1,8 --threads 2 --json\n"
      "  linformer bench --random base --k 128 --n 512,4096 --precision f32,bf16,int8\n"
      "  linformer bench --random base --k 0 --n 512 --profile\n"
      "  linformer bench --paper --minutes 20 --csv paper.csv --svg paper.svg\n");
  command->callback([flags, run] { *run = [flags] { return bench_command(*flags); }; });
}

}  // namespace linformer::cli
