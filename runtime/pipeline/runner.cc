#include "pipeline/runner.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "base/checked.h"
#include "base/description.h"

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

}  // namespace

Result<std::unique_ptr<TextRunner>> TextRunner::create(std::shared_ptr<const Model> model, const TextOptions& options,
                                                       std::span<const Output> outputs) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  std::unique_ptr<TextRunner> made(new (std::nothrow) TextRunner);
  if (!made) return no_memory();
  made->model_ = std::move(model);
  LINFORMER_TRY(made->prepare(options, outputs));
  return made;
}

Status TextRunner::prepare(const TextOptions& options, std::span<const Output> outputs) {
  const ModelDescription& description = model_->description();
  const EncoderDescription& encoder = description.encoder;
  if (options.on_long > OnLong::error) {
    return Status::error(Code::invalid_argument, "there is no on_long number %d", static_cast<int>(options.on_long));
  }
  if (options.cpu.threads < 1 || options.cpu.threads > ThreadTeam::max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", options.cpu.threads,
                         ThreadTeam::max_threads);
  }
  SessionOptions session{options.run, options.cpu, options.cuda, {}, {}, options.profile};
  // The session refuses limits that are out of range. Until then their products must not overflow.
  session.memory.max_tokens = options.max_tokens > 0 ? options.max_tokens : encoder.max_tokens;
  session.memory.max_batch = options.max_batch;
  for (const Output& output : outputs) {
    if (output.kind != OutputKind::logits && output.kind != OutputKind::probabilities) continue;
    const bool exists = output.head >= 0 && static_cast<size_t>(output.head) < description.heads.size();
    rules_.apart =
        rules_.apart || (exists && description.heads[static_cast<size_t>(output.head)].pairing != Pairing::none);
  }
  if (rules_.apart && session.memory.max_batch == 1) session.memory.max_batch = 2;  // a text's two are in one call
  session.memory.max_rows = options.max_rows > 0 ? options.max_rows : TextOptions::default_rows;
  const int64_t longest = std::min<int64_t>(session.memory.max_tokens, encoder.max_tokens);
  session.memory.max_rows = std::max(session.memory.max_rows, (rules_.apart ? 2 : 1) * longest);
  LINFORMER_TRY(start(session, options.cpu.threads, {session.cpu.parallel, session.cpu.parallel_context}));

  const Session& first = sessions_[0];
  max_batch_ = first.plan().options.memory.max_batch;
  max_rows_ = first.plan().options.memory.max_rows;
  // Full blocks of rows for each product, and no more: smaller groups share out better.
  group_rows_ = sessions_.size() > 1 ? std::min(max_rows_, 2 * first.plan().block_rows) : max_rows_;
  prefix_rows_ = first.output_rows(0);
  pad_to_ = options.pad_to;
  pad_id_ = encoder.pad_id;
  texts_at_once_ = texts_for_a_thread * sessions_.size();
  if (pad_to_ != 0 && (pad_id_ < 0 || pad_to_ < 0 || pad_to_ > session.memory.max_tokens - prefix_rows_)) {
    return Status::error(Code::invalid_argument, "pad_to is %lld: %s", static_cast<long long>(pad_to_),
                         pad_id_ < 0   ? "this model has no pad token"
                         : pad_to_ < 0 ? "give 0 or more tokens"
                                       : "more tokens than a text may have");
  }
  if (encoder.embedding.tokens == absent) vector_width_ = encoder.embedding.vectors.width;
  if (vector_width_ == 0) {
    Result<Tokenizer> tokenizer = Tokenizer::create(model_);
    if (!tokenizer.ok()) return tokenizer.status();
    tokenizer_ = std::move(tokenizer.value());
    Result<ReadRules> rules = ReadRules::of(*model_, *tokenizer_, first, options);
    if (!rules.ok()) return rules.status();
    rules->apart = rules_.apart;
    rules_ = *rules;
  } else {
    rules_.max_tokens = session.memory.max_tokens - prefix_rows_;
  }

  for (const Output& output : outputs) {
    const Result<Shape> shape = first.shape(output, 2, 6);
    if (!shape.ok()) return shape.status();
    if (shape->rows != (rules_.apart ? 1 : 2)) {
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
  for (Session& made : sessions_) {
    Worker worker(rules_);
    worker.session = &made;
    if (!workers_.try_push(std::move(worker))) return no_memory();
  }
  return {};
}

// One session for each thread. The first one can also use all threads, for few texts: the same ones. Other backends and
// devices take one session, which shares its work out itself.
Status TextRunner::start(const SessionOptions& session, int threads, const ParallelFor& callers) {
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

Status TextRunner::run(const TextList& texts, Visit visit, void* context, const RunControl& control) {
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

Status TextRunner::take_chunk(const TextList& texts, size_t begin) {
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
int64_t TextRunner::estimate(const TextInput& input) const {
  if (vector_width_ > 0) return static_cast<int64_t>(input.vectors.size()) / vector_width_ + prefix_rows_;
  const int64_t tokens = static_cast<int64_t>(bytes_of(input)) / bytes_of_a_token + 2;
  const int64_t most = (rules_.apart ? 2 : 1) * rules_.max_tokens;
  return std::max(rules_.on_long == OnLong::window ? tokens : std::min(tokens, most), pad_to_) + prefix_rows_;
}

// Texts of like length are run together, the longest first: the last ones to be shared out are short.
Status TextRunner::plan_chunk() {
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
    if (members > 0 && (rows + more > group_rows_ || (members + 1) * (rules_.apart ? 2 : 1) > max_batch_)) {
      if (!groups_.try_push(i)) return no_memory();
      rows = members = 0;
    }
    rows += more;
    ++members;
  }
  return groups_.try_push(static_cast<uint32_t>(count)) ? Status() : no_memory();
}

Status TextRunner::run_chunk() {
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

Status TextRunner::run_groups(Worker* worker) {
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

bool TextRunner::fits(const Worker& worker, int64_t rows, int64_t sequences) const {
  return static_cast<int64_t>(worker.sequences.size()) + sequences <= max_batch_ && worker.rows + rows <= max_rows_;
}

// A text's sequences. What is wrong with the text itself goes to its report; the error is of the call.
Status TextRunner::add(Worker* worker, size_t text) {
  TextReport& report = reports_[text];
  if (vector_width_ > 0) return append_vectors(worker, text);
  report.status = worker->reader.read(chunk_[text], &report);
  if (!report.status.ok()) return report.status.code() == Code::out_of_memory ? report.status : Status();
  const int64_t sequences = worker->reader.sequences();
  if (rules_.apart) {
    // Both sequences are in one call.
    int64_t rows = 0;
    for (int64_t i = 0; i < sequences; ++i) {
      const Result<TextSequence> sequence = worker->reader.sequence(i);
      if (!sequence.ok()) return sequence.status();
      rows += std::max(static_cast<int64_t>(sequence->ids.size()), pad_to_) + prefix_rows_;
    }
    if (!fits(*worker, rows, sequences)) LINFORMER_TRY(run_batch(worker));
  }
  for (int64_t i = 0; i < sequences; ++i) {
    const Result<TextSequence> sequence = worker->reader.sequence(i);
    if (!sequence.ok()) return sequence.status();
    LINFORMER_TRY(append(worker, text, *sequence));
  }
  return {};
}

Status TextRunner::append(Worker* worker, size_t text, const TextSequence& sequence) {
  const size_t given = sequence.ids.size(), size = std::max(given, static_cast<size_t>(pad_to_));
  const int64_t rows = static_cast<int64_t>(size) + prefix_rows_;
  if (!fits(*worker, rows, 1)) LINFORMER_TRY(run_batch(worker));
  const size_t start = worker->ids.size();
  if (!worker->sequences.try_push({start, size, text}) || !worker->ids.try_append(sequence.ids.data(), given) ||
      !worker->types.try_append(sequence.types.data(), given) || !worker->ids.try_reserve(start + size) ||
      !worker->types.try_resize(start + size)) {
    return no_memory();
  }
  while (worker->ids.size() < start + size) {
    if (!worker->ids.try_push(pad_id_)) return no_memory();
  }
  worker->rows += rows;
  return {};
}

Status TextRunner::append_vectors(Worker* worker, size_t text) {
  const TextInput& input = chunk_[text];
  TextReport& report = reports_[text];
  const int64_t count = static_cast<int64_t>(input.vectors.size()) / vector_width_;
  if (input.vectors.size() % static_cast<size_t>(vector_width_) != 0 || count == 0) {
    report.status = Status::error(Code::invalid_argument, "%zu floats are no vectors of %lld", input.vectors.size(),
                                  static_cast<long long>(vector_width_));
  } else if (count > rules_.max_tokens) {
    report.beyond = {TextLimit::tokens, 0, count, 0, rules_.max_tokens, false};
    report.status = Status::error(Code::too_long, "there are %lld vectors and at most %lld are read",
                                  static_cast<long long>(count), static_cast<long long>(rules_.max_tokens));
  } else if (rules_.apart) {
    report.status = Status::error(Code::invalid_argument, "this head compares two texts, not vectors");
  }
  if (!report.status.ok()) return {};
  report.tokens = report.total_tokens = count;
  if (!fits(*worker, count + prefix_rows_, 1)) LINFORMER_TRY(run_batch(worker));
  if (!worker->sequences.try_push({worker->vectors.size(), input.vectors.size(), text}) ||
      !worker->vectors.try_append(input.vectors.data(), input.vectors.size())) {
    return no_memory();
  }
  worker->rows += count + prefix_rows_;
  return {};
}

Status TextRunner::run_batch(Worker* worker) {
  if (worker->sequences.empty()) return {};
  const size_t rows = worker->sequences.size() / (rules_.apart ? 2 : 1);
  worker->inputs.clear();
  worker->outputs.clear();
  if (!worker->values.try_resize_for_overwrite(rows * row_)) return no_memory();
  for (const Worker::Sequence& sequence : worker->sequences) {
    Input input;
    if (vector_width_ > 0) {
      input.vectors = {worker->vectors.data() + sequence.start, sequence.size};
    } else {
      input.tokens = {worker->ids.data() + sequence.start, sequence.size};
      input.types = {worker->types.data() + sequence.start, sequence.size};
    }
    if (!worker->inputs.try_push(input)) return no_memory();
  }
  size_t offset = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output output = outputs_[i];
    output.values = {worker->values.data() + offset, rows * static_cast<size_t>(shapes_[i])};
    offset += output.values.size();
    if (!worker->outputs.try_push(output)) return no_memory();
  }
  RunControl control = control_;
  control.one_thread = control_.one_thread || !worker->alone;
  LINFORMER_TRY(worker->session->run(worker->inputs.span(), worker->outputs.span(), control));
  keep(*worker);
  worker->clear();
  return {};
}

// Adds a batch's rows to their texts': each window counts alike.
void TextRunner::keep(const Worker& worker) {
  const size_t each = rules_.apart ? 2 : 1, rows = worker.sequences.size() / each;
  for (size_t row = 0; row < rows; ++row) {
    const size_t text = worker.sequences[row * each].text;
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
