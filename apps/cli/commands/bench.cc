// Measures models and compares them with the machine's limits. Each case runs in a process of its own.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>

#include "answers/notes.h"
#include "answers/output.h"
#include "bench/child.h"
#include "bench/paper.h"
#include "bench/random_model.h"
#include "bench/report.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/bench_flags.h"
#include "files/atomic_file.h"
#include "files/write_error.h"
#include "inspect/profile.h"
#include "models/devices.h"
#include "models/model_file.h"
#include "models/processors.h"
#include "research/paper_picture.h"
#include "research/paper_report.h"
#include "terminal/progress_line.h"

namespace linformer::cli {
namespace {

ElementType type_of(const std::string& name) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    if (name == linformer::name_of(type)) return type;
  }
  throw UsageError("--dtype " + name + ": give f32, bf16, f16 or int8");
}

std::vector<ElementType> types_of(const BenchFlags& flags, const std::vector<std::string>& otherwise) {
  std::vector<ElementType> types;
  for (const std::string& name : flags.dtypes.empty() ? otherwise : flags.dtypes) {
    types.push_back(type_of(name));
  }
  return types;
}

nlohmann::ordered_json profile_of_case(const Session& session) {
  const std::vector<ProfiledOp> ops = profile_of({&session, 1});
  return {{"text", profile_text(session.plan(), ops)}, {"json", profile_json(session.plan(), ops)}};
}

class Bench {
 public:
  explicit Bench(const BenchFlags& flags) : flags_(flags), device_(parse_device_number(flags.device)) {
    report_.threads = flags.threads > 0 ? flags.threads : std::min(processors(), int{CpuOptions::max_threads});
    report_.machine = bench::this_machine();
    // case_for_backend() throws UsageError if a backend can't compute in the chosen precision.
    for (const std::string& backend : flags.backends) case_for_backend(backend);
    if (device_ < 0) return;
    try {
      report_.machine.device = bench::device_text(device_);
    } catch (const std::runtime_error& error) {
      throw DataError(error.what());
    }
  }

  int run() {
    measure_limits(flags_.seconds);
    progress_.restart();
    const size_t models =
        flags_.random.empty() ? flags_.models.size() : flags_.ks.size() * types_of(flags_, default_types()).size();
    cases_ = models * flags_.backends.size() * lengths().size() * flags_.batches.size();
    if (flags_.random.empty()) {
      for (const std::string& model : flags_.models)
        measure_model(std::filesystem::path(model).filename().string(), model);
    } else {
      measure_random();
    }
    measure_limits(flags_.seconds);  // The limits are measured again, because the machine may have been slower before.
    progress_.clear();
    standard_output().write(flags_.json ? json_text(bench::report_json(report_)) : bench::report_text(report_));
    const bool any = std::any_of(report_.rows.begin(), report_.rows.end(),
                                 [](const bench::ReportRow& row) { return row.measurement.has_value(); });
    if (!any) throw DataError("nothing could be measured: " + report_.rows.front().error);
    return exit_ok;
  }

  int run_paper() {
    // The files are opened before the measurements, so that a wrong path is reported at once.
    std::optional<files::AtomicFile> csv, svg;
    if (!flags_.csv.empty()) csv.emplace(flags_.csv);
    if (!flags_.svg.empty()) svg.emplace(flags_.svg);
    measure_limits(60 * flags_.minutes);
    bench::PaperOptions options;
    options.running = case_for_backend(flags_.backends.front());
    options.minutes = flags_.minutes;
    options.longest = static_cast<uint32_t>(flags_.longest);
    options.least_tokens = flags_.call_tokens > 0 ? flags_.call_tokens
                           : device_ < 0          ? bench::cpu_tokens
                                                  : bench::gpu_tokens;
    options.types = types_of(
        flags_, device_ < 0 ? std::vector<std::string>{"f32", "int8"} : std::vector<std::string>{"f32", "f16"});
    research::PaperReport paper;
    // The progress shows the time that is left, and not the share of the cells that are done, because later cells take
    // longer.
    const auto announce_cell = [&](const std::string& what) {
      const double left = std::max(60 * flags_.minutes - progress_.seconds(), 0.0);
      announce(what + "; at most " + terminal::time_text(left) + " left", -1);
    };
    progress_.restart();
    paper.runs = bench::run_paper(options, report_.limits, announce_cell);
    measure_limits(60 * flags_.minutes);
    progress_.clear();
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

  // On a GPU, f16 is measured instead of int8.
  std::vector<std::string> default_types() const { return {"f32", "bf16", device_ < 0 ? "int8" : "f16"}; }

  // Shows on a terminal which step of the benchmark is running.
  void announce(const std::string& what, double share) { progress_.show(what, share); }

  // Measures the machine's limits and keeps the highest values of all measurements. `seconds` is the time of the cases;
  // measuring the limits of a processor takes no longer.
  void measure_limits(double seconds) {
    announce("measuring the limits", -1);
    const bench::Limits limits =
        device_ < 0 ? bench::measure_limits(report_.threads, seconds) : bench::measure_device_limits(device_);
    if (report_.limits.f32.giga == 0) report_.limits = limits;
    report_.limits.raise(limits);
  }

  void measure_random() {
    const std::vector<int64_t> lengths = this->lengths();
    for (const uint32_t k : flags_.ks) {
      bench::ModelShape shape = bench::shape_of(flags_.random);
      // n must be at least k. Otherwise the projection would not reduce the number of rows, and the times for short
      // texts would not be those of a Linformer.
      shape.n = std::max(static_cast<uint32_t>(*std::max_element(lengths.begin(), lengths.end())), k);
      shape.k = k;
      shape.window = flags_.window;
      const std::string name = flags_.random + (k == 0 ? ", full attention" : ", k " + std::to_string(k)) +
                               (shape.window == 0 ? "" : ", window " + std::to_string(shape.window));
      for (const ElementType type : types_of(flags_, default_types())) {
        announce("writing a random model", -1);
        if (!flags_.save.empty()) {
          bench::write_random_model(shape, type, flags_.save);
          measure_model(name, flags_.save);
        } else {
          const bench::TemporaryModel model(shape, type);
          measure_model(name, model.path());
        }
      }
    }
  }

  std::vector<int64_t> lengths() const {
    if (!flags_.tokens.empty()) return flags_.tokens;
    // 0 stands for the limit of the model file.
    return flags_.random.empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{512};
  }

  bench::Case case_for_backend(const std::string& backend) const {
    bench::Case what;
    what.backend = parse_backend(backend);
    what.isa = parse_isa(flags_.isa);
    what.device = device_;
    SessionOptions options;
    options.cpu.backend = what.backend;
    options.cuda.device = what.device;
    flags_.precision.apply_to(&options);
    what.compute = options.run.compute;
    what.attention_compute = options.run.attention_compute;
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
          row.what = case_for_backend(backend);
          row.what.model = path;
          row.what.tokens = tokens;
          row.what.batch = batch;
          row.what.seconds = flags_.seconds;
          row.what.profile = flags_.profile;
          announce("case " + std::to_string(report_.rows.size() + 1) + " of " + std::to_string(cases_) + ": " + name +
                       (tokens > 0 ? ", n " + std::to_string(tokens) : "") + ", batch " + std::to_string(batch),
                   static_cast<double>(report_.rows.size()) / static_cast<double>(cases_));
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
  size_t cases_ = 0;  // The number of all cases.
  terminal::ProgressLine progress_{verbosity() != Verbosity::quiet};
};

int bench_command(const BenchFlags& flags) {
  if (!flags.measured_case.empty()) {
    if (flags.models.size() != 1) throw UsageError("--case takes one model");
    return bench::run_case(flags.measured_case, flags.models.front(), profile_of_case);
  }
  flags.check();
  // A length that is too large is reported here once, and not for each case.
  for (const std::string& path : flags.models) {
    const int64_t most = load_model(path)->info().max_tokens;
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
    throw DataError(error.what());  // An error of apps/bench. Its message is a sentence for the user.
  }
}

}  // namespace

void add_bench(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("bench", "Measure time and memory beside the machine's limits");
  auto flags = std::make_shared<BenchFlags>();
  flags->add_to(command);
  command->callback([flags, run] { *run = [flags] { return bench_command(*flags); }; });
}

}  // namespace linformer::cli
