#include "commands/embed_sparse.h"

#include <unordered_set>

#include "answers/columns.h"
#include "answers/output.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "input/record_loop.h"
#include "inspect/profile.h"
#include "linformer/sparse_embedder.h"
#include "models/model_file.h"
#include "models/text_queue.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

class EmbedSparse {
 public:
  explicit EmbedSparse(const SparseJob& given)
      : given_(given),
        fields_(given.input.fields("")),
        model_(load(given.model)),
        embedder_(make_embedder()),
        queue_(
            embedder_.texts_at_once(), error_explainer(false),
            [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
              return embedder_.embed(inputs,
                                     [&](size_t i, const TextReport& report, std::span<const TokenWeight> tokens) {
                                       tokens_ = tokens;
                                       return answer(i, report, {});
                                     });
            },
            [this](Job& job, std::span<const float>) { write(job); }),
        output_(given.output.output),
        progress_(output_.is_file() || !system::is_terminal(system::standard_output)) {}

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) {
      auto job = std::make_unique<Job>();
      ++tally_.records;
      job->id = id_of_answer(&record, tally_.records, given_.input);
      job->error = std::move(record.error);
      job->own = std::move(record.own);
      queue_.add(std::move(job), std::move(record.text), std::move(record.pair));
    };
    loop.on_wait = [this] { queue_.flush(); };
    loop.progress = &progress_;
    loop.run(given_.input, fields_);
    queue_.flush();
    progress_.clear();
    output_.commit();
    tally_.print_summary(embedder_.max_tokens(), "");
    report_profile(embedder_.sessions(), true);
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  static std::shared_ptr<const Model> load(const std::string& path) {
    std::shared_ptr<const Model> model = load_model(path);
    require_masked_lm(*model, path);
    require_tokenizer(*model, path);
    return model;
  }

  SparseEmbedder make_embedder() const {
    SparseEmbedderOptions options;
    options.texts = text_options(given_.run, given_.tokens, &given_.longer);
    Result<SparseEmbedder> made = SparseEmbedder::create(model_, options);
    if (!made.ok()) throw_creation_error(made.status());
    return std::move(made.value());
  }

  // Returns the token as text, or "#" and its id if the token can't be decoded or another token of the answer has the
  // same text.
  std::string name_of(int32_t id, std::unordered_set<std::string>* taken) {
    std::string name;
    if (embedder_.tokenizer().decode({&id, 1}, {}, &buffer_).ok()) name = buffer_.view();
    if (name.empty() || !taken->insert(name).second) name = "#" + std::to_string(id);
    return name;
  }

  void write(Job& job) {
    nlohmann::ordered_json line = {{"id", job.id}};
    if (!job.error.empty()) {
      ++tally_.errors;
      line["error"] = job.error;
      if (output_.is_file()) tally_.report(job.id, job.error, false, &progress_);
    } else {
      tally_.cut += job.truncated() ? 1 : 0;
      std::unordered_set<std::string> taken;
      nlohmann::ordered_json::object_t tokens;
      for (const TokenWeight& token : tokens_) {
        tokens.push_back({name_of(token.id, &taken), double_of_shortest_text(token.weight)});
      }
      line["tokens"] = std::move(tokens);
      line["truncated"] = job.truncated();
      if (job.truncated()) line["total_tokens"] = job.total_tokens;
    }
    output_.stream()->write(json_line(job.own, line));
    Tally::count_answered();
  }

  const SparseJob& given_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  SparseEmbedder embedder_;
  TextQueue queue_;
  std::span<const TokenWeight> tokens_;  // The weights for the current text.
  TextBuffer buffer_;
  AnswerOutput output_;
  Progress progress_;
  Tally tally_;
};

}  // namespace

void check_sparse_options(const SparseJob& job) {
  if (job.output.choose_format(OutputFormat::jsonl, false) != OutputFormat::jsonl) {
    throw UsageError(
        "--sparse: each text has different tokens, which don't fit into an array or a table; write JSON lines, --json");
  }
  if (job.longer.value() == OnLong::window) {
    throw UsageError("--sparse reads one window of each text; use --on-long truncate or error");
  }
}

int embed_sparse(const SparseJob& job) { return EmbedSparse(job)(); }

}  // namespace linformer::cli
