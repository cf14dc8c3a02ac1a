#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>

#include "answers/notes.h"
#include "answers/output.h"
#include "answers/progress.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/input_flags.h"
#include "commands/flags/run_flags.h"
#include "files/atomic_file.h"
#include "input/chunks.h"
#include "input/record_loop.h"
#include "models/model_file.h"
#include "research/approximation_picture.h"
#include "research/spectrum_lapack.h"
#include "research/spectrum_picture.h"

namespace linformer::cli {
namespace {

constexpr int64_t most_rows = 1 << 14;   // A matrix of so many rows and columns takes 2 GiB.
constexpr double smallest_error = 1e-5;  // Hidden states are float32, so smaller errors are rounding errors.

struct SpectrumFlags {
  std::string model, csv, svg, html;
  InputFlags input;
  ChunkOptions chunks;
  std::vector<int64_t> lengths;  // In ascending order. If empty, there is one length, which depends on the text.
  std::optional<int64_t> rank;
  std::optional<double> keep, error;
  std::optional<int> draws;
  std::optional<int64_t> seed;
  int threads = 0;
  bool json = false;
};

constexpr double default_keep = 0.9;

// Functions that return the same report in different formats.
struct Forms {
  std::function<std::string()> text, csv, svg, html;
  std::function<nlohmann::ordered_json()> json;
};

std::string file_name(const std::string& path) {
  return path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
}

std::string text_name(const SpectrumFlags& flags) {
  if (!flags.chunks.ids.empty()) return file_name(flags.chunks.ids);
  const std::vector<std::string> files = flags.input.all_input_paths({});
  if (files.empty()) return "the command line";
  return file_name(files[0]) + (files.size() > 1 ? " and " + std::to_string(files.size() - 1) + " more" : "");
}

void check_numbers(const SpectrumFlags& flags) {
  if (flags.keep && std::isnan(*flags.keep)) throw UsageError("--share is not a number; give 0.001 to 1");
  if (flags.error && std::isnan(*flags.error)) {
    throw UsageError("--error is not a number; give more than 0 and less than 1");
  }
  if (!flags.error) {
    if (flags.draws || flags.seed) throw UsageError("--draws and --seed go with --error");
    if (flags.lengths.size() > 1) throw UsageError("several lengths of --max-tokens go with --error");
    return;
  }
  if (!(*flags.error > 0 && *flags.error < 1)) {
    throw UsageError("--error " + significant(*flags.error, 6) + ": give more than 0 and less than 1");
  }
  if (*flags.error < smallest_error) {
    throw UsageError("--error " + significant(*flags.error, 6) + " is less than the rounding error; give " +
                     significant(smallest_error, 6) + " or more");
  }
  if (flags.rank || flags.keep) {
    throw UsageError("--rank and --share do not go with --error");
  }
}

void check_flags(const SpectrumFlags& flags) {
  check_numbers(flags);
  if (flags.input.empty() == flags.chunks.ids.empty()) {
    throw UsageError("give either texts, --input FILE or --ids FILE; - is standard input");
  }
  const auto to_output = [](const std::string& path) { return files::is_standard_output(path) ? 1 : 0; };
  if (to_output(flags.csv) + to_output(flags.svg) + to_output(flags.html) + (flags.json ? 1 : 0) > 1) {
    throw UsageError("only one of --json, --csv, --svg and --html can go to standard output");
  }
  check_outputs(flags.input.all_input_paths({flags.model, flags.chunks.ids}),
                {{"--csv", flags.csv, files::FileFormat::csv},
                 {"--svg", flags.svg, files::FileFormat::svg},
                 {"--html", flags.html, files::FileFormat::html}});
  warn_if_text_names_file(flags.input, "read");
  // A missing folder is reported before the work and not after it.
  for (const std::string& path : {flags.csv, flags.svg, flags.html}) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder)) {
      throw DataError(path + ": can't be written: the folder does not exist; make it first");
    }
  }
}

void write_file(const std::string& path, const std::string& content) {
  if (path.empty()) return;
  files::AtomicFile file(path);
  file.append(content);
  file.commit();
}

void write_report(const Forms& forms, const SpectrumFlags& flags) {
  if (!flags.csv.empty()) write_file(flags.csv, forms.csv());
  if (!flags.svg.empty()) write_file(flags.svg, forms.svg());
  if (!flags.html.empty()) write_file(flags.html, forms.html());
  if (flags.json) {
    standard_output().write(json_text(forms.json()) + "\n");
  } else if (!files::is_standard_output(flags.csv) && !files::is_standard_output(flags.svg) &&
             !files::is_standard_output(flags.html)) {
    standard_output().write(forms.text());
  }
}

// The objects that measure() creates for both kinds of measurements.
struct Measuring {
  const Model& model;
  const Chunks& chunks;
  Session* session;
  int threads;
};

void measure_spectrum(const SpectrumFlags& flags, const Measuring& ready) {
  const int64_t n = ready.chunks.rows;
  research::SpectrumSum sum(ready.model, n, ready.threads);
  {
    Progress progress(true, "matrix", "matrices");
    const size_t matrices = ready.chunks.texts.size() * sum.heads();
    size_t done = 0;
    const auto step = [&] {
      ++done;
      progress.update(done, done, matrices);
    };
    for (const std::vector<int32_t>& text : ready.chunks.texts) sum.add(ready.session, text, step);
  }
  const research::SpectrumReport report{sum.mean(), file_name(flags.model), text_name(flags),
                                        flags.rank.value_or(std::max<int64_t>(n / 4, 1)),
                                        flags.keep.value_or(default_keep)};
  write_report({[&] { return research::spectrum_text(report); }, [&] { return research::spectrum_csv(report); },
                [&] { return research::spectrum_svg(report); }, [&] { return research::spectrum_html(report); },
                [&] { return research::spectrum_json(report); }},
               flags);
}

void measure_approximation(const SpectrumFlags& flags, const Measuring& ready) {
  research::ApproximationReport report;
  report.model = file_name(flags.model);
  report.text = text_name(flags);
  report.options.error = *flags.error;
  report.options.draws = flags.draws.value_or(report.options.draws);
  report.options.seed = static_cast<uint64_t>(flags.seed.value_or(0));
  const std::vector<int64_t> lengths = flags.lengths.empty() ? std::vector{ready.chunks.rows} : flags.lengths;
  {
    Progress progress(true, "matrix", "matrices");
    // The time for a matrix grows at least with n^2.
    const auto cost_of = [](int64_t n) { return static_cast<uint64_t>(n * n); };
    uint64_t matrices = 0, done = 0, all = 0;
    for (const int64_t n : lengths) all += cost_of(n);
    for (const int64_t n : lengths) {
      research::ApproximationSum sum(ready.model, n, report.options, ready.threads);
      const uint64_t each = ready.chunks.texts.size() * sum.heads();
      const auto step = [&] { progress.update(++matrices, done += cost_of(n), all * each); };
      for (size_t i = 0; i < ready.chunks.texts.size(); ++i) {
        sum.add(ready.session, ready.chunks.shortened_chunk(i, n), step);
      }
      report.lengths.push_back(sum.mean());
    }
  }
  write_report(
      {[&] { return research::approximation_text(report); }, [&] { return research::approximation_csv(report); },
       [&] { return research::approximation_svg(report); }, [&] { return research::approximation_html(report); },
       [&] { return research::approximation_json(report); }},
      flags);
}

int measure(const SpectrumFlags& flags) {
  check_flags(flags);
  const std::shared_ptr<const Model> model = load_model(flags.model);
  research::require_full_attention(*model, flags.model);
  if (const std::string problem = research::lapack_problem(); !problem.empty()) throw DataError(problem);
  const Chunks chunks = read_chunks(flags.input, flags.chunks, model, flags.model);
  if (flags.rank.value_or(1) > chunks.rows) {
    throw UsageError("--rank " + std::to_string(*flags.rank) + " is more than the " + std::to_string(chunks.rows) +
                     " singular values that a matrix has; lower it");
  }
  if (chunks.short_records > 0) {
    note(grouped(chunks.short_records) + " of the texts are too short for " + std::to_string(chunks.rows) +
         " tokens and left out");
  }

  RunFlags run;
  run.threads = flags.threads;
  run.batch = 1;
  const SessionOptions options = run.session_options(*model, chunks.rows);
  Session session = value_or_throw(Session::create(model, options));
  const Measuring ready{*model, chunks, &session, options.cpu.threads};
  if (flags.error) {
    measure_approximation(flags, ready);
  } else {
    measure_spectrum(flags, ready);
  }
  return exit_ok;
}

}  // namespace

void add_spectrum(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("spectrum", "Measure the rank of a full-attention model's attention");
  auto flags = std::make_shared<SpectrumFlags>();
  flags->chunks.texts = 8;
  command->add_option("MODEL", flags->model, "Model file (.lnfr) with full attention")->type_name("")->required();
  flags->input.add_texts_to(command, "Texts");
  command
      ->add_option("--ids", flags->chunks.ids,
                   "Token ids instead of texts, as 'encode --ids' reads them; - is standard input")
      ->type_name("FILE")
      ->group("Input");
  flags->input.add_files_to(command);
  command
      ->add_option("--max-tokens", flags->lengths,
                   "Length n of each text, special tokens included; with --error several lengths separated by commas, "
                   "each measured on the beginnings of the longest texts; default: 512, or less if the model's limit "
                   "or the text is shorter")
      ->type_name("N,..")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{2}, most_rows))
      ->group("Tokens");
  command->add_option("--limit", flags->chunks.texts, "Measure at most N texts of that length; 0: all")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32))
      ->capture_default_str()
      ->group("Tokens");
  command
      ->add_flag("--apart", flags->chunks.apart,
                 "Each record begins a text; otherwise records are joined before they are cut into texts")
      ->group("Tokens");
  command
      ->add_flag("--literal-special", flags->chunks.literal_special,
                 "Special tokens written inside a text, such as <mask>, are plain characters")
      ->group("Tokens");
  command
      ->add_option("--rank", flags->rank,
                   "Show for each head the share of its N largest singular values; default: n / 4")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, most_rows))
      ->group("Results");
  command->add_option("--share", flags->keep, "Share of the sum of singular values that k must keep")
      ->type_name("S")
      ->check(CLI::Range(0.001, 1.0))
      ->default_str("0.9")
      ->group("Results");
  command
      ->add_option("--error", flags->error,
                   "Print instead the k at which P V has the relative error E, by theorems 1 and 2, by random "
                   "projections and by singular values; more than 0, less than 1")
      ->type_name("E")
      ->check(CLI::Number)  // Without this check, CLI11 would treat an empty value as no option.
      ->group("Results");
  command->add_option("--draws", flags->draws, "With --error: number of random projections of each matrix; default: 5")
      ->type_name("R")
      ->check(CLI::Range(1, 1000))
      ->group("Results");
  command->add_option("--seed", flags->seed, "With --error: seed of the random projections; default: 0")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 53))
      ->group("Results");
  command->add_flag("--json", flags->json, "Print one JSON object with all singular values instead of tables")
      ->group("Results");
  command
      ->add_option(
          "--csv", flags->csv,
          "CSV with a row for each layer, head and index; with --error also for each length; - is standard output")
      ->type_name("FILE")
      ->group("Results");
  command
      ->add_option("--svg", flags->svg,
                   "A picture of curves, a heatmap and a table of k; with --error of k against n; - is standard output")
      ->type_name("FILE")
      ->group("Results");
  command->add_option("--html", flags->html, "The same picture as a page; - is standard output")
      ->type_name("FILE")
      ->group("Results");
  command->add_option("--threads", flags->threads, "Threads; default: one for each processor")
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->group("Running");
  command->callback([flags, run] {
    *run = [flags] {
      if (!flags->lengths.empty()) {
        std::sort(flags->lengths.begin(), flags->lengths.end());
        flags->lengths.erase(std::unique(flags->lengths.begin(), flags->lengths.end()), flags->lengths.end());
        flags->chunks.rows = flags->lengths.back();
        flags->chunks.least = flags->lengths.front();
      }
      if (flags->chunks.ids.empty()) flags->input.use_piped_input();
      return measure(*flags);
    };
  });
}

}  // namespace linformer::cli
