#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

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
#include "research/spectrum_lapack.h"
#include "research/spectrum_picture.h"

namespace linformer::cli {
namespace {

constexpr int64_t most_rows = 1 << 14;  // a matrix of 2 GiB

struct SpectrumFlags {
  std::string model, csv, svg, html;
  InputFlags input;
  ChunkOptions chunks;
  int64_t rank = 0;
  double keep = 0.9;
  int threads = 0;
  bool json = false;
};

std::string file_name(const std::string& path) {
  return path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
}

std::string text_name(const SpectrumFlags& flags) {
  if (!flags.chunks.ids.empty()) return file_name(flags.chunks.ids);
  const std::vector<std::string> files = flags.input.paths({});
  if (files.empty()) return "the command line";
  return file_name(files[0]) + (files.size() > 1 ? " and " + std::to_string(files.size() - 1) + " more" : "");
}

void check_flags(const SpectrumFlags& flags) {
  if (flags.input.empty() == flags.chunks.ids.empty()) {
    throw UsageError("give either texts, --input FILE or --ids FILE; - is standard input");
  }
  const auto to_output = [](const std::string& path) { return files::is_standard_output(path) ? 1 : 0; };
  if (to_output(flags.csv) + to_output(flags.svg) + to_output(flags.html) + (flags.json ? 1 : 0) > 1) {
    throw UsageError("only one of --json, --csv, --svg and --html can go to standard output");
  }
  check_outputs(flags.input.paths({flags.model, flags.chunks.ids}), {{"--csv", flags.csv, files::FileFormat::csv},
                                                                     {"--svg", flags.svg, files::FileFormat::svg},
                                                                     {"--html", flags.html, files::FileFormat::html}});
  warn_of_file_names(flags.input, "read");
  // Said before the work and not after it.
  for (const std::string& path : {flags.csv, flags.svg, flags.html}) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder)) {
      throw DataError(path + ": can't be written: there is no such folder; make it first");
    }
  }
}

void write_file(const std::string& path, const std::string& content) {
  if (path.empty()) return;
  files::AtomicFile file(path);
  file.append(content);
  file.commit();
}

void write_report(const research::SpectrumReport& report, const SpectrumFlags& flags) {
  if (!flags.csv.empty()) write_file(flags.csv, research::spectrum_csv(report));
  if (!flags.svg.empty()) write_file(flags.svg, research::spectrum_svg(report));
  if (!flags.html.empty()) write_file(flags.html, research::spectrum_html(report));
  if (flags.json) {
    standard_output().write(json_text(research::spectrum_json(report)) + "\n");
  } else if (!files::is_standard_output(flags.csv) && !files::is_standard_output(flags.svg) &&
             !files::is_standard_output(flags.html)) {
    standard_output().write(research::spectrum_text(report));
  }
}

int measure(const SpectrumFlags& flags) {
  check_flags(flags);
  const std::shared_ptr<const Model> model = load_model(flags.model);
  research::require_full_attention(*model, flags.model);
  if (const std::string problem = research::lapack_problem(); !problem.empty()) throw DataError(problem);
  const Chunks chunks = read_chunks(flags.input, flags.chunks, model, flags.model);
  if (flags.rank > chunks.rows) {
    throw UsageError("--rank " + std::to_string(flags.rank) + " is more than the " + std::to_string(chunks.rows) +
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
  Session session = take(Session::create(model, options));
  research::SpectrumSum sum(*model, chunks.rows, options.cpu.threads);
  research::SpectrumReport report;
  {
    Progress progress(true, "matrix", "matrices");
    const size_t matrices = chunks.texts.size() * sum.heads();
    size_t done = 0;
    const auto step = [&] {
      ++done;
      progress.update(done, done, matrices);
    };
    for (const std::vector<int32_t>& text : chunks.texts) sum.add(&session, text, step);
  }
  report.spectrum = sum.mean();
  report.model = file_name(flags.model);
  report.text = text_name(flags);
  report.rank = flags.rank > 0 ? flags.rank : std::max<int64_t>(chunks.rows / 4, 1);
  report.keep = flags.keep;
  write_report(report, flags);
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
      ->add_option("--ids", flags->chunks.ids, "Token ids instead, as 'encode --ids' reads them; - is standard input")
      ->type_name("FILE")
      ->group("Input");
  flags->input.add_files_to(command);
  command
      ->add_option("--max-tokens", flags->chunks.rows,
                   "Length n of each text, special tokens included; default: 512, less where model or text are shorter")
      ->type_name("N")
      ->check(CLI::Range(int64_t{2}, most_rows))
      ->group("Tokens");
  command->add_option("--limit", flags->chunks.texts, "Measure N texts of that length at most; 0: all that there are")
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
  command->add_option("--rank", flags->rank, "Index whose share of the sum is shown for each head; default: n / 4")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, most_rows))
      ->group("Results");
  command->add_option("--share", flags->keep, "Share of the sum that k is to keep")
      ->type_name("S")
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str()
      ->group("Results");
  command->add_flag("--json", flags->json, "One JSON object with all singular values instead of tables")
      ->group("Results");
  command->add_option("--csv", flags->csv, "A row for each layer, head and index; - is standard output")
      ->type_name("FILE")
      ->group("Results");
  command->add_option("--svg", flags->svg, "A picture: curves, heatmap and table of k; - is standard output")
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
      if (flags->chunks.ids.empty()) flags->input.take_pipe();
      return measure(*flags);
    };
  });
}

}  // namespace linformer::cli
