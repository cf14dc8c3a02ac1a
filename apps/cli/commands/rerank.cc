#include <CLI/CLI.hpp>

#include "answers/ranking.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/ranking_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"
#include "input/record_loop.h"
#include "inspect/profile.h"
#include "linformer/reranker.h"
#include "models/heads.h"
#include "models/model_file.h"
#include "models/text_queue.h"

namespace linformer::cli {
namespace {

struct RerankFlags {
  std::string model, head;
  RankingFlags ranking;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  int64_t top_n = 0;
  bool raw = false;
};

// A document, which is scored with each query.
struct Candidate {
  RankedDocument document;
  bool bad = false;  // True after an error for one of the queries.
};

// A query and a document that are scored together.
struct Pair : Job {
  size_t query = 0;
  std::shared_ptr<Candidate> candidate;
};

Reranker make_reranker(const std::shared_ptr<const Model>& model, const RerankFlags& flags) {
  require_tokenizer(*model, flags.model);
  const ModelInfo info = model->info();
  if (info.heads == 0 && info.has_embedding) {
    throw DataError(flags.model + ": this model turns texts into vectors and scores no pairs; use 'linformer search'");
  }
  RerankerOptions options;
  if (!flags.head.empty() || info.has_decoder) options.head = find_head(*model, flags.head);
  options.texts = text_options(flags.run, flags.tokens, &flags.longer);
  options.logits = flags.raw;
  Result<Reranker> made = Reranker::create(model, options);
  if (!made.ok()) throw_creation_error(made.status());
  return std::move(made.value());
}

class Rerank {
 public:
  explicit Rerank(const RerankFlags& flags)
      : flags_(flags),
        fields_(flags.ranking.input.fields("")),
        model_(load_model(flags.model)),
        reranker_(make_reranker(model_, flags)),
        queries_(flags.ranking.read_queries()),
        rankings_(queries_.size(), flags.top_n),
        queue_(
            reranker_.texts_at_once(), error_explainer(flags.longer.value() != OnLong::window),
            [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
              return reranker_.score(inputs, [&](size_t i, const TextReport& report, float score) {
                return answer(i, report, {&score, 1});
              });
            },
            [this](Job& job, std::span<const float> values) { take(static_cast<Pair&>(job), values); }),
        output_(flags.ranking.output.output) {}

  int operator()() {
    RecordLoop loop;
    loop.visit = [this](Record& record) { add(record); };
    loop.progress = &progress_;
    loop.run(flags_.ranking.input, fields_);
    queue_.flush();
    progress_.clear();
    RankingWriter writer = flags_.ranking.writer(output_.stream());
    rankings_.write(&writer);
    writer.finish();
    output_.commit();
    tally_.print_summary(reranker_.max_tokens(), "--on-long window reads all of a text");
    report_profile(reranker_.sessions(), flags_.ranking.output.json);
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  void add(Record& record) {
    const auto candidate = std::make_shared<Candidate>();
    RankedDocument& document = candidate->document;
    document.index = static_cast<int64_t>(tally_.records++);
    document.id = id_of_answer(&record, tally_.records, flags_.ranking.input);
    document.own = std::move(record.own);
    if (!record.error.empty()) return refuse_document(candidate.get(), record.error);
    document.text = std::move(record.text);
    for (size_t query = 0; query < queries_.size(); ++query) {
      auto pair = std::make_unique<Pair>();
      pair->query = query;
      pair->candidate = candidate;
      queue_.add(std::move(pair), queries_[query], document.text);
    }
  }

  // Counts a document that can't be scored and reports it once on standard error, because the ranking has no place for
  // errors.
  void refuse_document(Candidate* candidate, const std::string& error) {
    if (candidate->bad) return;
    candidate->bad = true;
    ++tally_.errors;
    tally_.report(candidate->document.id, error, false, &progress_);
  }

  void take(Pair& pair, std::span<const float> values) {
    if (!pair.error.empty()) return refuse_document(pair.candidate.get(), pair.error);
    tally_.cut += pair.query == 0 && pair.truncated() ? 1 : 0;
    rankings_.add(pair.query, {pair.candidate, &pair.candidate->document}, values[0]);
    if (pair.query + 1 == queries_.size()) Tally::count_answered();
  }

  const RerankFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  Reranker reranker_;
  std::vector<std::string> queries_;
  Rankings rankings_;
  TextQueue queue_;
  AnswerOutput output_;
  Progress progress_{true};
  Tally tally_;
};

}  // namespace

void add_rerank(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("rerank", "Order documents by how well they answer a query");
  auto flags = std::make_shared<RerankFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr) of a cross-encoder")->type_name("")->required();
  flags->ranking.add_to(command, "Documents");
  command->add_option("--top-n", flags->top_n, "Documents shown for a query, best first; default: all")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{INT64_MAX}))
      ->group("Answers");
  command
      ->add_option(
          "--head", flags->head,
          "Head that scores pairs, by name or index; default: the first head that has one output or compares two texts")
      ->type_name("NAME")
      ->group("Answers");
  command->add_flag("--raw", flags->raw, "Scores are the head's outputs, without the sigmoid")->group("Answers");
  flags->longer.add_to(command, "mean of all windows");
  flags->tokens.add_to(command);
  flags->run.add_to(command);
  flags->run.add_profile_to(command, true);
  command->callback([flags, run] {
    *run = [flags] {
      if (flags->ranking.queries != "-") flags->ranking.input.use_piped_input();
      if (flags->ranking.input.empty()) {
        throw UsageError("no documents: give texts, --input FILE, or - for standard input");
      }
      flags->ranking.check({flags->model});
      warn_if_text_names_file(flags->ranking.input, "scored");
      return Rerank(*flags)();
    };
  });
}

}  // namespace linformer::cli
