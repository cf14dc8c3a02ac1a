#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <limits>

#include "answers/columns.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/embed_sparse.h"
#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"
#include "commands/flags/vector_flags.h"
#include "files/atomic_file.h"
#include "files/output_target.h"
#include "files/terminal_output.h"
#include "input/npy.h"
#include "input/record_loop.h"
#include "inspect/profile.h"
#include "linformer/embedder.h"
#include "models/model_file.h"
#include "models/text_queue.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

struct EmbedFlags {
  std::string model;
  InputFlags input;
  OutputFlags output;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  VectorFlags vectors;
  bool sparse = false;

  OutputFormat format() const { return output.choose_format(OutputFormat::npy, !input.keep.empty()); }
};

struct Vector : Job {
  std::vector<float> values;  // The vector of the text, which is the mean of the vectors of its windows.
};

// The array of vectors. The number of rows is known only at the end; the header is then rewritten. If the output is a
// pipe, whose start can't be rewritten, all rows are kept in memory until the end.
class VectorFile {
 public:
  VectorFile(const std::string& path, int64_t width) : file_(path), width_(width) {
    if (file_.is_file()) write_header();
  }
  void add(std::span<const float> row) {
    ++rows_;
    if (file_.is_file()) return file_.append(std::as_bytes(row));
    kept_.insert(kept_.end(), row.begin(), row.end());
  }
  void commit() {
    if (file_.is_file()) {
      file_.rewrite_start(header());
    } else {
      write_header();
      file_.append(std::as_bytes(std::span(kept_)));
    }
    file_.commit();
  }

 private:
  std::string header() const {
    const int64_t shape[] = {rows_, width_};
    return npy_float_header(shape);
  }
  void write_header() { file_.append(header()); }

  files::AtomicFile file_;
  int64_t width_, rows_ = 0;
  std::vector<float> kept_;
};

class Embed {
 public:
  explicit Embed(const EmbedFlags& flags)
      : flags_(flags),
        fields_(flags.input.fields("")),
        model_(load_model(flags.model)),
        embedder_(flags.vectors.make_embedder(model_, flags.model, flags.run, flags.tokens, &flags.longer)),
        queue_(
            embedder_.texts_at_once(), error_explainer(flags.longer.value() != OnLong::window),
            [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
              return embedder_.embed(inputs, answer);
            },
            [this](Job& job, std::span<const float> values) { take(static_cast<Vector&>(job), values); }),
        width_(embedder_.width()),
        format_(flags.format()),
        progress_(format_ == OutputFormat::npy || to_file(flags.output.output) ||
                  !system::is_terminal(system::standard_output)) {
    if (format_ == OutputFormat::npy) {
      array_.emplace(flags.output.output, width_);
      return;
    }
    answers_.emplace(flags.output.output);
    if (format_ != OutputFormat::jsonl) {
      columns_.emplace(format_ == OutputFormat::csv, column_names(), answers_->stream());
    }
  }

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) {
      auto vector = std::make_unique<Vector>();
      ++tally_.records;
      vector->id = id_of_answer(&record, tally_.records, flags_.input);
      vector->error = std::move(record.error);
      vector->own = std::move(record.own);
      queue_.add(std::move(vector), std::move(record.text), std::move(record.pair));
    };
    loop.on_wait = [this] { queue_.flush(); };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
    queue_.flush();
    progress_.clear();
    if (array_) array_->commit();
    if (columns_) columns_->finish();
    if (answers_) answers_->commit();
    tally_.print_summary(embedder_.max_tokens(), "--on-long window reads all of a text");
    report_profile(embedder_.sessions(), format_ == OutputFormat::jsonl);
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  static bool to_file(const std::string& path) { return !path.empty() && !files::is_standard_output(path); }

  std::vector<std::string> column_names() const {
    std::vector<std::string> names = {"id"};
    for (int64_t i = 0; i < width_; ++i) names.push_back("embedding_" + std::to_string(i));
    names.insert(names.end(), {"tokens", "total_tokens", "error"});
    return names;
  }

  void take(Vector& vector, std::span<const float> values) {
    write(vector, values);
    Tally::count_answered();
  }

  void write(Vector& vector, std::span<const float> values) {
    vector.values.assign(values.begin(), values.end());
    if (!vector.error.empty()) {
      ++tally_.errors;
      // A record without a vector gets a row of NaN, so that row i belongs to record i.
      vector.values.assign(static_cast<size_t>(width_), std::numeric_limits<float>::quiet_NaN());
      if (array_ || answers_->is_file()) tally_.report(vector.id, vector.error, false, &progress_);
    } else {
      tally_.cut += vector.truncated() ? 1 : 0;
    }
    if (array_) return array_->add(vector.values);
    if (columns_) return write_row(vector);
    nlohmann::ordered_json line = {{"id", vector.id}};
    if (!vector.error.empty()) {
      line["error"] = vector.error;
    } else {
      auto& numbers = line["embedding"] = nlohmann::ordered_json::array();
      for (const float value : vector.values) numbers.push_back(double_of_shortest_text(value));
      line["tokens"] = vector.tokens;
      line["truncated"] = vector.truncated();
      if (vector.truncated()) line["total_tokens"] = vector.total_tokens;
      if (vector.windows > 1) line["windows"] = vector.windows;
    }
    answers_->stream()->write(json_line(vector.own, line));
  }

  void write_row(const Vector& vector) {
    std::vector<std::string> cells = {vector.id_text()};
    const size_t count = static_cast<size_t>(width_) + 4;
    if (vector.error.empty()) {
      for (const float value : vector.values) cells.push_back(shortest_text(value));
      cells.insert(cells.end(), {std::to_string(vector.tokens), std::to_string(vector.total_tokens)});
    }
    cells.resize(count);
    cells.back() = vector.error;
    columns_->write(vector.own, cells);
  }

  const EmbedFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  Embedder embedder_;
  TextQueue queue_;
  int64_t width_;
  OutputFormat format_;
  Progress progress_;
  std::optional<VectorFile> array_;
  std::optional<AnswerOutput> answers_;
  std::optional<ColumnWriter> columns_;
  Tally tally_;
};

}  // namespace

void add_embed(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("embed", "Make one vector for each text");
  auto flags = std::make_shared<EmbedFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr)")->type_name("")->required();
  flags->input.add_texts_to(command, "Texts");
  flags->input.add_to(command);
  flags->output.add_to(command, {OutputFormat::npy, OutputFormat::jsonl, OutputFormat::csv, OutputFormat::tsv},
                       "Answers");
  command->add_flag("--json", flags->output.json, "The same as --output-format jsonl")->group("Answers");
  flags->input.add_keep_to(command);
  flags->vectors.add_to(command);
  command
      ->add_flag("--sparse", flags->sparse,
                 "Weights of tokens of the vocabulary instead of a vector, by the masked-LM head (SPLADE); JSON lines")
      ->group("Vectors");
  flags->longer.add_to(command, "mean of all windows");
  flags->tokens.add_to(command);
  flags->run.add_to(command);
  flags->run.add_profile_to(command, true);
  command->callback([flags, run] {
    *run = [flags] {
      flags->input.use_piped_input();
      if (flags->input.empty()) throw UsageError("nothing to embed: give texts, --input FILE, or - for standard input");
      if (flags->sparse) {
        if (flags->vectors.any())
          throw UsageError(
              "--sparse: the options for pooling, length, dimensions and prompts are for dense vectors; leave them "
              "out");
        const SparseJob job = {flags->model, flags->input, flags->output, flags->tokens, flags->longer, flags->run};
        check_sparse_options(job);
        check_outputs(flags->input.all_input_paths({flags->model}), {flags->output.named_output(OutputFormat::jsonl)});
        warn_if_text_names_file(flags->input, "embedded");
        return embed_sparse(job);
      }
      const OutputFormat format = flags->format();
      const std::string& output = flags->output.output;
      if (output.empty() && flags->output.format.empty() && format == OutputFormat::npy) {
        throw UsageError("no output is named: give -o FILE.npy, or --json");
      }
      flags->vectors.check();
      if (output.empty() && format == OutputFormat::npy) flags->output.output = "-";
      if (format == OutputFormat::npy && files::is_terminal(output)) {
        throw UsageError("standard output is a terminal, which can't show an array: give -o FILE.npy, or --json");
      }
      check_outputs(
          flags->input.all_input_paths({flags->model}),
          {flags->output.named_output(format, format == OutputFormat::npy ? "give --json for JSON lines" : "")});
      if (format == OutputFormat::csv || format == OutputFormat::tsv) flags->input.check_kept_columns();
      warn_if_text_names_file(flags->input, "embedded");
      return Embed(*flags)();
    };
  });
}

}  // namespace linformer::cli
