#include <CLI/CLI.hpp>
#include <initializer_list>
#include <optional>

#include "answers/ranking.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/ranking_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"
#include "commands/flags/vector_flags.h"
#include "input/npy.h"
#include "input/record_loop.h"
#include "linformer/vector_search.h"
#include "models/model_file.h"
#include "models/text_queue.h"

namespace linformer::cli {
namespace {

// The vectors of texts are collected until they have at least this many floats, and are then searched together.
constexpr size_t most_waiting_floats = size_t{1} << 22;

struct SearchFlags {
  std::string model, vectors, similarity = "cosine";
  RankingFlags ranking;
  VectorFlags vector;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  std::optional<std::string> query_prompt;
  int64_t top_k = 10;
};

// Returns the first of `names` that is the name of a prompt of the model, or nullopt. sentence-transformers chooses the
// prompts of queries and of documents in this way.
std::optional<std::string> first_prompt(const Model& model, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (int i = 0; i < model.sentence_embedding().prompts; ++i) {
      if (model.prompt(i).name == name) return std::string(name);
    }
  }
  return {};
}

struct Embedded : Job {
  std::shared_ptr<RankedDocument> document;
};

class Search {
 public:
  explicit Search(const SearchFlags& flags)
      : flags_(flags),
        fields_(flags.ranking.input.fields("")),
        model_(load_model(flags.model)),
        embedder_(make_embedder(query_prompt())),
        width_(static_cast<size_t>(embedder_.width())),
        queries_(embed_queries()),
        output_(flags.ranking.output.output) {}

  int operator()() {
    RankingWriter writer = flags_.ranking.writer(output_.stream());
    if (flags_.vectors.empty()) {
      search_texts(&writer);
    } else {
      search_vectors(&writer);
    }
    writer.finish();
    output_.commit();
    tally_.print_summary(embedder_.max_tokens(), "--on-long window reads all of a text");
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  Embedder make_embedder(const std::optional<std::string>& prompt) const {
    VectorFlags vector = flags_.vector;
    vector.prompt = prompt;
    return vector.make_embedder(model_, flags_.model, flags_.run, flags_.tokens, &flags_.longer);
  }

  std::optional<std::string> query_prompt() const {
    if (flags_.query_prompt) return flags_.query_prompt;
    return flags_.vector.prompt ? flags_.vector.prompt : first_prompt(*model_, {"query"});
  }
  std::optional<std::string> text_prompt() const {
    return flags_.vector.prompt ? flags_.vector.prompt : first_prompt(*model_, {"document", "passage", "corpus"});
  }

  // Returns the vectors of all queries, [queries, width].
  std::vector<float> embed_queries() {
    const std::vector<std::string> texts = flags_.ranking.read_queries();
    std::vector<std::string_view> views(texts.begin(), texts.end());
    std::vector<float> vectors;
    std::string error;
    const bool can_window = flags_.longer.value() != OnLong::window;
    check(embedder_.embed(views, [&](size_t i, const TextReport& report, std::span<const float> vector) {
      if (!report.status.ok()) {
        error = (flags_.ranking.queries.empty() ? "--query" : "query " + std::to_string(i + 1)) + ": " +
                error_message_of(report, can_window);
      }
      vectors.insert(vectors.end(), vector.begin(), vector.end());
      return error.empty();
    }));
    if (!error.empty()) throw DataError(error);
    return vectors;
  }

  // Returns for each query the most similar of `rows`, the best first.
  std::vector<std::vector<Scored>> find(std::span<const float> rows) const {
    const TextOptions run = flags_.run.text_options();
    VectorSearchOptions options;
    options.similarity = flags_.similarity == "dot" ? Similarity::dot : Similarity::cosine;
    options.top_k =
        std::clamp<int64_t>(flags_.top_k, 1, std::max<int64_t>(1, static_cast<int64_t>(rows.size() / width_)));
    options.cpu.threads = run.cpu.threads;
    options.cpu.isa = run.cpu.isa;
    Result<VectorSearch> made = VectorSearch::create(rows, static_cast<int64_t>(width_), options);
    if (!made.ok()) throw_creation_error(made.status());
    const size_t queries = queries_.size() / width_, most = static_cast<size_t>(options.top_k);
    std::vector<Scored> best(queries * most);
    std::vector<size_t> counts(queries);
    check(made->search(queries_, best, counts));
    std::vector<std::vector<Scored>> found;
    for (size_t query = 0; query < queries; ++query) {
      const auto first = best.begin() + static_cast<ptrdiff_t>(query * most);
      found.emplace_back(first, first + static_cast<ptrdiff_t>(counts[query]));
    }
    return found;
  }

  void search_vectors(RankingWriter* writer) {
    const NpyRows rows(flags_.vectors);
    if (rows.columns() != static_cast<int64_t>(width_)) {
      throw DataError("--vectors " + flags_.vectors + ": its rows have " + std::to_string(rows.columns()) +
                      " numbers and this model's vectors " + std::to_string(width_) +
                      "; give what 'linformer embed' made with the same model and options");
    }
    const std::vector<std::vector<Scored>> found = find(rows.values());
    std::unordered_map<int64_t, RankedDocument> documents;
    for (const std::vector<Scored>& best : found) {
      for (const Scored& scored : best) {
        RankedDocument& document = documents[scored.index];
        document.index = scored.index;
        document.id = scored.index + 1;
      }
    }
    if (!flags_.ranking.input.empty()) read_documents(rows.rows(), &documents);
    for (size_t query = 0; query < found.size(); ++query) {
      for (const Scored& scored : found[query]) writer->write(query + 1, documents.at(scored.index), scored.score);
    }
  }

  // Reads the texts and ids of the rows that were found. It reads all records, because their number must equal the
  // number of rows.
  void read_documents(int64_t rows, std::unordered_map<int64_t, RankedDocument>* documents) {
    int64_t count = 0;
    RecordLoop loop;
    loop.visit = [&](Record& record) {
      const auto found = documents->find(count++);
      if (found == documents->end()) return;
      found->second.id = id_of_answer(&record, static_cast<uint64_t>(count), flags_.ranking.input);
      found->second.own = std::move(record.own);
      found->second.text = std::move(record.text);
      if (record.error.empty()) return;
      // The record is bad, but its row is among the results. Rows of bad records are NaN and never results, so the
      // vectors were made of another text.
      ++tally_.errors;
      tally_.report(found->second.id, record.error, false, &progress_);
    };
    loop.progress = &progress_;
    loop.run(flags_.ranking.input, fields_);
    progress_.clear();
    tally_.records = static_cast<uint64_t>(count);
    if (count == rows) return;
    throw DataError("--vectors " + flags_.vectors + " has " + grouped(static_cast<uint64_t>(rows)) +
                    " rows and the input has " + grouped(static_cast<uint64_t>(count)) +
                    " records; give the input that the vectors were made of");
  }

  void search_texts(RankingWriter* writer) {
    // The queries' vectors are already computed, so their embedder is no longer needed. If texts have another prompt,
    // an embedder with that prompt replaces it. The old one is destroyed first, because both may not fit in memory.
    if (text_prompt() != query_prompt()) {
      static_cast<void>(Embedder(std::move(embedder_)));
      embedder_ = make_embedder(text_prompt());
    }
    Rankings rankings(queries_.size() / width_, flags_.top_k);
    std::vector<float> rows;
    std::vector<std::shared_ptr<const RankedDocument>> waiting;
    const auto search_waiting = [&] {
      const std::vector<std::vector<Scored>> found = find(rows);
      for (size_t query = 0; query < found.size(); ++query) {
        for (const Scored& scored : found[query]) {
          rankings.add(query, waiting[static_cast<size_t>(scored.index)], scored.score);
        }
      }
      rows.clear();
      waiting.clear();
    };
    TextQueue queue(
        embedder_.texts_at_once(), error_explainer(flags_.longer.value() != OnLong::window),
        [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
          return embedder_.embed(inputs, answer);
        },
        [&](Job& job, std::span<const float> vector) {
          if (!job.error.empty()) {
            ++tally_.errors;
            return tally_.report(job.id, job.error, false, &progress_);
          }
          tally_.cut += job.truncated() ? 1 : 0;
          Tally::count_answered();
          rows.insert(rows.end(), vector.begin(), vector.end());
          waiting.push_back(std::move(static_cast<Embedded&>(job).document));
          if (rows.size() >= most_waiting_floats) search_waiting();
        });
    RecordLoop loop;
    loop.visit = [&](Record& record) {
      auto job = std::make_unique<Embedded>();
      job->document = std::make_shared<RankedDocument>();
      job->document->index = static_cast<int64_t>(tally_.records++);
      job->id = job->document->id = id_of_answer(&record, tally_.records, flags_.ranking.input);
      job->error = std::move(record.error);
      job->document->own = std::move(record.own);
      job->document->text = record.text;
      queue.add(std::move(job), std::move(record.text), {});
    };
    loop.progress = &progress_;
    loop.run(flags_.ranking.input, fields_);
    queue.flush();
    search_waiting();
    progress_.clear();
    rankings.write(writer);
  }

  const SearchFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  Embedder embedder_;
  size_t width_;
  std::vector<float> queries_;
  AnswerOutput output_;
  Progress progress_{true};
  Tally tally_;
};

}  // namespace

void add_search(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("search", "Find the texts whose vectors are nearest to a query's");
  auto flags = std::make_shared<SearchFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr) that makes vectors")->type_name("")->required();
  flags->ranking.add_to(command, "Texts to search in");
  command
      ->add_option("--vectors", flags->vectors,
                   "Vectors of the texts (npy), written by 'linformer embed'; the file is mapped, and may be of any "
                   "size. Texts or files are then optional; they give each row its text and id")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--query-prompt", flags->query_prompt,
                   "Name of the model's prompt to put before each query; default: --prompt, or the model's prompt "
                   "called query. Without --prompt, texts get the prompt called document, passage or corpus")
      ->type_name("NAME")
      ->group("Vectors");
  command->add_option("--top-k", flags->top_k, "Texts found for a query, best first")
      ->type_name("K")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->capture_default_str()
      ->group("Answers");
  command->add_option("--similarity", flags->similarity, "Similarity of vectors: cosine or dot")
      ->type_name("HOW")
      ->check(CLI::IsMember({"cosine", "dot"}))
      ->capture_default_str()
      ->group("Answers");
  flags->vector.add_to(command);
  flags->longer.add_to(command, "mean of all windows");
  flags->tokens.add_to(command);
  flags->run.add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      RankingFlags& ranking = flags->ranking;
      if (flags->vectors.empty() && ranking.queries != "-") ranking.input.use_piped_input();
      if (flags->vectors.empty() && ranking.input.empty()) {
        throw UsageError("nothing to search in: give texts, --input FILE, or --vectors FILE.npy");
      }
      if (!flags->vectors.empty() && ranking.input.limit > 0) {
        throw UsageError("--limit: with --vectors each row needs its record; leave it out");
      }
      if (!flags->vectors.empty() && !ranking.input.keep.empty() && ranking.input.empty()) {
        throw UsageError("--keep: the fields are read from the input; give --input FILE");
      }
      flags->vector.check();
      ranking.check({flags->model, flags->vectors});
      warn_if_text_names_file(ranking.input, "searched");
      return Search(*flags)();
    };
  });
}

}  // namespace linformer::cli
