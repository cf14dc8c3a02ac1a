#include "linformer/text_runner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>
#include <numeric>

#include "base/description.h"
#include "base/threads.h"
#include "linformer/array.h"
#include "linformer/sequence_batch.h"
#include "linformer/text_reader.h"
#include "pipeline/session_options.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Of the texts that are in memory at once: so many for each thread that none waits long for the last.
constexpr size_t texts_for_a_thread = 256, most_chunk_bytes = size_t{8} << 20;
constexpr size_t most_chunk_floats = size_t{16} << 20;  // of their answers
constexpr int64_t bytes_of_a_token = 4;                 // about, in most languages and vocabularies

Status no_memory() { return Status::error(Code::out_of_memory, "no memory for a batch of texts"); }

size_t bytes_of(const TextInput& input) {
  return input.text.size() + (input.pair ? input.pair->size() : 0) + input.vectors.size_bytes();
}

// What one thread has of its own.
struct Worker {
  Session* session = nullptr;
  std::optional<TextReader> reader;  // of a model that reads tokens
  std::optional<SequenceBatch> batch;
  bool alone = false;   // all threads of the session work for it
  Array<size_t> texts;  // in the chunk, that the batch's sequences are of
  Array<float> values;
  Array<Output> outputs;
  Status status;

  void clear() {
    batch->clear();
    texts.clear();
  }
};

}  // namespace

struct TextRunner::State {
  Status prepare(const TextOptions& options, std::span<const Output> outputs);
  Status start(const SessionOptions& session, int threads, const ParallelFor& callers);
  Status make_workers(const TextOptions& options);
  Status run(const TextList& texts, Visit visit, void* context, const RunControl& control);
  // The texts from `begin` on that are read and run together: order_ and groups_ say how.
  Status take_chunk(const TextList& texts, size_t begin);
  Status plan_chunk();
  Status run_chunk();
  Status run_groups(Worker* worker);
  Status add(Worker* worker, size_t text);
  Status append(Worker* worker, size_t text, const TextSequence& sequence);
  Status append_vectors(Worker* worker, size_t text);
  Status run_batch(Worker* worker);
  void keep(const Worker& worker);
  int64_t estimate(const TextInput& input) const;
  float* values_of(size_t text) { return values_.data() + text * row_; }
  int64_t sequences_each() const { return apart_ ? 2 : 1; }

  std::shared_ptr<const Model> model_;
  bool apart_ = false;  // a head compares the two texts of an input
  OnLong on_long_ = OnLong::truncate;
  int64_t max_tokens_ = 0;  // without what the model puts before a text
  int64_t pad_to_ = 0;
  int64_t prefix_rows_ = 0;
  int64_t vector_width_ = 0;  // 0: the model reads tokens
  int64_t max_batch_ = 1, group_rows_ = 1;
  size_t texts_at_once_ = 1;
  Array<Output> outputs_;
  Array<int64_t> shapes_;  // columns of each
  size_t row_ = 0;         // floats of a text
  Array<Session> sessions_;
  Array<Worker> workers_;  // one for each session
  ThreadTeam team_;

  // The call and chunk in progress.
  RunControl control_;
  Array<TextInput> chunk_;
  Array<uint32_t> order_;   // texts of the chunk, longest first
  Array<uint32_t> groups_;  // ends in order_
  Array<TextReport> reports_;
  Array<float> values_;
  std::atomic<uint32_t> next_group_{0};
};

TextRunner::TextRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextRunner::TextRunner(TextRunner&&) noexcept = default;
TextRunner& TextRunner::operator=(TextRunner&&) noexcept = default;
TextRunner::~TextRunner() = default;

Result<TextRunner> TextRunner::create(std::shared_ptr<const Model> model, std::span<const Output> outputs,
                                      const TextOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory();
  state->model_ = std::move(model);
  LINFORMER_TRY(state->prepare(options, outputs));
  return TextRunner(std::move(state));
}

Status TextRunner::run(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  return state_->run(texts, visit, context, control);
}

int64_t TextRunner::columns(size_t output) const {
  return output < state_->shapes_.size() ? state_->shapes_[output] : 0;
}
int64_t TextRunner::max_tokens() const { return state_->max_tokens_; }
size_t TextRunner::texts_at_once() const { return state_->texts_at_once_; }
std::span<const Session> TextRunner::sessions() const { return state_->sessions_.span(); }

Status TextRunner::State::prepare(const TextOptions& options, std::span<const Output> outputs) {
  const ModelDescription& description = model_->description();
  if (options.on_long > OnLong::error) {
    return Status::error(Code::invalid_argument, "there is no on_long number %d", static_cast<int>(options.on_long));
  }
  if (options.cpu.threads < 1 || options.cpu.threads > ThreadTeam::max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", options.cpu.threads,
                         ThreadTeam::max_threads);
  }
  if (outputs.empty() || outputs.size() > Outputs::most) {
    return Status::error(Code::invalid_argument, "%zu outputs: ask for 1 to %zu", outputs.size(), Outputs::most);
  }
  for (const Output& output : outputs) {
    if (output.kind != OutputKind::logits && output.kind != OutputKind::probabilities) continue;
    const bool exists = output.head >= 0 && static_cast<size_t>(output.head) < description.heads.size();
    apart_ = apart_ || (exists && description.heads[static_cast<size_t>(output.head)].pairing != Pairing::none);
  }
  const SessionOptions session = session_options(*model_, options, static_cast<int>(sequences_each()));
  LINFORMER_TRY(start(session, options.cpu.threads, {session.cpu.parallel, session.cpu.parallel_context}));

  const Session& first = sessions_[0];
  const MemoryOptions& planned = first.plan().options.memory;
  max_batch_ = planned.max_batch;
  // Full blocks of rows for each product, and no more: smaller groups share out better.
  group_rows_ = sessions_.size() > 1 ? std::min(planned.max_rows, 2 * first.plan().block_rows) : planned.max_rows;
  prefix_rows_ = first.output_rows(0);
  max_tokens_ = planned.max_tokens - prefix_rows_;
  on_long_ = options.on_long;
  pad_to_ = options.pad_to;
  texts_at_once_ = texts_for_a_thread * sessions_.size();
  LINFORMER_TRY(check_pads(*model_, options, max_tokens_));
  const EmbeddingDescription& embedding = description.encoder.embedding;
  if (embedding.tokens == absent) vector_width_ = embedding.vectors.width;
  LINFORMER_TRY(make_workers(options));

  for (const Output& output : outputs) {
    if (output.kind == OutputKind::masked_lm) {
      return Status::error(Code::invalid_argument,
                           "masked-LM logits have no row for a text: use MaskFiller or MaskedLm");
    }
    const Result<Shape> shape = first.shape(output, 2, 6);
    if (!shape.ok()) return shape.status();
    if (shape->rows != (apart_ ? 1 : 2)) {
      return Status::error(Code::invalid_argument,
                           output.kind == OutputKind::hidden || shape->rows == 6
                               ? "an output with a row for each token has none for a text: use a session"
                               : "a head that compares two texts and outputs for each text don't go together: run "
                                 "them one after the other");
    }
    if (!outputs_.try_push(output) || !shapes_.try_push(shape->columns)) return no_memory();
    row_ += static_cast<size_t>(shape->columns);
  }
  texts_at_once_ = std::clamp<size_t>(most_chunk_floats / std::max<size_t>(row_, 1), 1, texts_at_once_);
  return {};
}

Status TextRunner::State::make_workers(const TextOptions& options) {
  for (Session& made : sessions_) {
    Worker worker;
    worker.session = &made;
    Result<SequenceBatch> batch =
        SequenceBatch::create(made, {0, vector_width_ > 0 ? 0 : pad_to_, model_->description().encoder.pad_id});
    if (!batch.ok()) return batch.status();
    worker.batch = std::move(*batch);
    if (vector_width_ == 0) {
      TextReaderOptions reading;
      reading.texts = options;
      reading.apart = apart_;
      reading.session = &made;
      Result<TextReader> reader =
          workers_.empty() ? TextReader::create(model_, reading) : workers_[0].reader->another();
      if (!reader.ok()) return reader.status();
      worker.reader = std::move(*reader);
    }
    if (!workers_.try_push(std::move(worker))) return no_memory();
  }
  return {};
}

// One session for each thread. The first one can also use all threads, for few texts: the same ones. Other backends and
// devices take one session, which shares its work out itself.
Status TextRunner::State::start(const SessionOptions& session, int threads, const ParallelFor& callers) {
  const bool several = session.cpu.backend == BackendKind::native && session.cuda.device < 0;
  Result<std::shared_ptr<const PreparedWeights>> weights = PreparedWeights::create(model_);
  if (!weights.ok()) return weights.status();
  if (several) LINFORMER_TRY(team_.start(threads, callers));
  for (int i = 0; i < (several ? threads : 1); ++i) {
    SessionOptions options = session;
    options.cpu.threads = i == 0 ? threads : 1;
    if (several && i == 0) {
      options.cpu.parallel = [](void* team, void (*task)(void*, int), void* argument, int) {
        static_cast<ThreadTeam*>(team)->run(task, argument);
      };
      options.cpu.parallel_context = &team_;
    }
    Result<Session> made = Session::create(*weights, options);
    if (!made.ok()) return made.status();
    if (!sessions_.try_push(std::move(made.value()))) return no_memory();
  }
  return {};
}

Status TextRunner::State::run(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  control_ = control;
  control_.progress = nullptr;  // sessions' own shares mean nothing here
  for (size_t begin = 0; begin < texts.size(); begin += chunk_.size()) {
    LINFORMER_TRY(take_chunk(texts, begin));
    LINFORMER_TRY(plan_chunk());
    LINFORMER_TRY(run_chunk());
    for (size_t i = 0; i < chunk_.size(); ++i) {
      const bool good = reports_[i].status.ok();
      if (!visit(context, begin + i, reports_[i], {values_of(i), good ? row_ : 0})) return {};
    }
    if (control.progress != nullptr) {
      control.progress(control.context, static_cast<double>(begin + chunk_.size()) / static_cast<double>(texts.size()));
    }
  }
  return {};
}

Status TextRunner::State::take_chunk(const TextList& texts, size_t begin) {
  chunk_.clear();
  for (size_t i = begin, bytes = 0; i < texts.size() && chunk_.size() < texts_at_once_; ++i) {
    const TextInput input = texts[i];
    bytes += bytes_of(input);
    if (!chunk_.empty() && bytes > most_chunk_bytes) break;
    if (!chunk_.try_push(input)) return no_memory();
  }
  return {};
}

// About how many rows a text takes.
int64_t TextRunner::State::estimate(const TextInput& input) const {
  if (vector_width_ > 0) return static_cast<int64_t>(input.vectors.size()) / vector_width_ + prefix_rows_;
  const int64_t tokens = static_cast<int64_t>(bytes_of(input)) / bytes_of_a_token + 2;
  const int64_t most = sequences_each() * max_tokens_;
  return std::max(on_long_ == OnLong::window ? tokens : std::min(tokens, most), pad_to_) + prefix_rows_;
}

// Texts of like length are run together, the longest first: the last ones to be shared out are short.
Status TextRunner::State::plan_chunk() {
  const size_t count = chunk_.size();
  reports_.clear();
  groups_.clear();
  if (!reports_.try_resize(count) || !order_.try_resize_for_overwrite(count) ||
      !values_.try_assign(count * row_, 0.f)) {
    return no_memory();
  }
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    const size_t first = bytes_of(chunk_[a]), second = bytes_of(chunk_[b]);
    return first != second ? first > second : a < b;
  });
  int64_t rows = 0, members = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t more = estimate(chunk_[order_[i]]);
    if (members > 0 && (rows + more > group_rows_ || (members + 1) * sequences_each() > max_batch_)) {
      if (!groups_.try_push(i)) return no_memory();
      rows = members = 0;
    }
    rows += more;
    ++members;
  }
  return groups_.try_push(static_cast<uint32_t>(count)) ? Status() : no_memory();
}

Status TextRunner::State::run_chunk() {
  next_group_.store(0, std::memory_order_relaxed);
  // A call that was stopped or failed may have left a batch behind.
  for (Worker& worker : workers_) {
    worker.clear();
    worker.status = Status();
  }
  const bool pooled = !control_.one_thread && workers_.size() > 1 && groups_.size() >= 2 * workers_.size();
  workers_[0].alone = !pooled;
  if (!pooled) return run_groups(&workers_[0]);
  team_.run([&](int thread) {
    Worker& worker = workers_[static_cast<size_t>(thread)];
    worker.status = run_groups(&worker);
  });
  for (const Worker& worker : workers_) LINFORMER_TRY(worker.status);
  return {};
}

Status TextRunner::State::run_groups(Worker* worker) {
  for (;;) {
    const uint32_t group = next_group_.fetch_add(1, std::memory_order_relaxed);
    if (group >= groups_.size()) return {};
    for (uint32_t i = group == 0 ? 0 : groups_[group - 1]; i < groups_[group]; ++i) {
      if (control_.cancel != nullptr && control_.cancel->load(std::memory_order_relaxed)) {
        return Status::error(Code::cancelled, "the call was cancelled");
      }
      LINFORMER_TRY(add(worker, order_[i]));
    }
    LINFORMER_TRY(run_batch(worker));
  }
}

// A text's sequences. What is wrong with the text itself goes to its report; the error is of the call.
Status TextRunner::State::add(Worker* worker, size_t text) {
  if (vector_width_ > 0) return append_vectors(worker, text);
  TextReader& reader = *worker->reader;
  const Status read = reader.read(chunk_[text], &reports_[text]);
  if (!read.ok()) return read.code() == Code::out_of_memory ? read : Status();
  const int64_t sequences = reader.sequences();
  if (apart_) {
    // Both sequences are in one call.
    int64_t rows = 0;
    for (int64_t i = 0; i < sequences; ++i) {
      const Result<TextSequence> sequence = reader.sequence(i);
      if (!sequence.ok()) return sequence.status();
      rows += worker->batch->rows_of(sequence->ids.size());
    }
    if (!worker->batch->fits(rows, sequences)) LINFORMER_TRY(run_batch(worker));
  }
  for (int64_t i = 0; i < sequences; ++i) {
    const Result<TextSequence> sequence = reader.sequence(i);
    if (!sequence.ok()) return sequence.status();
    LINFORMER_TRY(append(worker, text, *sequence));
  }
  return {};
}

Status TextRunner::State::append(Worker* worker, size_t text, const TextSequence& sequence) {
  if (!worker->batch->fits(worker->batch->rows_of(sequence.ids.size()))) LINFORMER_TRY(run_batch(worker));
  if (!worker->texts.try_push(text)) return no_memory();
  return worker->batch->add(sequence.ids, sequence.types);
}

Status TextRunner::State::append_vectors(Worker* worker, size_t text) {
  const TextInput& input = chunk_[text];
  TextReport& report = reports_[text];
  const int64_t count = static_cast<int64_t>(input.vectors.size()) / vector_width_;
  if (input.vectors.size() % static_cast<size_t>(vector_width_) != 0 || count == 0) {
    report.status = Status::error(Code::invalid_argument, "%zu floats are no vectors of %lld", input.vectors.size(),
                                  static_cast<long long>(vector_width_));
  } else if (count > max_tokens_) {
    report.beyond = {TextLimit::tokens, 0, count, 0, max_tokens_, false};
    report.status = Status::error(Code::too_long, "there are %lld vectors and at most %lld are read",
                                  static_cast<long long>(count), static_cast<long long>(max_tokens_));
  } else if (apart_) {
    report.status = Status::error(Code::invalid_argument, "this head compares two texts, not vectors");
  }
  if (!report.status.ok()) return {};
  report.tokens = report.total_tokens = count;
  if (!worker->batch->fits(count + prefix_rows_)) LINFORMER_TRY(run_batch(worker));
  if (!worker->texts.try_push(text)) return no_memory();
  return worker->batch->add_vectors(input.vectors, count);
}

Status TextRunner::State::run_batch(Worker* worker) {
  if (worker->batch->empty()) return {};
  const size_t rows = worker->batch->size() / static_cast<size_t>(sequences_each());
  worker->outputs.clear();
  if (!worker->values.try_resize_for_overwrite(rows * row_)) return no_memory();
  size_t offset = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output output = outputs_[i];
    output.values = {worker->values.data() + offset, rows * static_cast<size_t>(shapes_[i])};
    offset += output.values.size();
    if (!worker->outputs.try_push(output)) return no_memory();
  }
  RunControl control = control_;
  control.one_thread = control_.one_thread || !worker->alone;
  LINFORMER_TRY(worker->session->run(worker->batch->inputs(), worker->outputs.span(), control));
  keep(*worker);
  worker->clear();
  return {};
}

// Adds a batch's rows to their texts': each window counts alike.
void TextRunner::State::keep(const Worker& worker) {
  const size_t each = static_cast<size_t>(sequences_each()), rows = worker.texts.size() / each;
  for (size_t row = 0; row < rows; ++row) {
    const size_t text = worker.texts[row * each];
    TextReport& report = reports_[text];
    const float share = 1.f / static_cast<float>(report.windows);
    float* to = values_of(text);
    const float* from = worker.values.data();
    bool finite = true;
    for (const int64_t columns : shapes_) {
      const float* values = from + row * static_cast<size_t>(columns);
      for (int64_t i = 0; i < columns; ++i) {
        finite = finite && std::isfinite(values[i]);
        to[i] += report.windows == 1 ? values[i] : share * values[i];
      }
      to += columns;
      from += rows * static_cast<size_t>(columns);
    }
    if (!finite && report.status.ok()) {
      report.status = Status::error(Code::internal, "the model gave a number that is not finite; check its weights");
    }
  }
}

}  // namespace LINFORMER_NAMESPACE
