// Runs a call of TextRunner: cuts the texts into chunks, a chunk into groups of similar length, and a group into
// batches of sequences.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/text_runner_state.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr size_t most_chunk_bytes = size_t{8} << 20;  // The limit of the texts in a chunk, in bytes.
constexpr int64_t bytes_of_a_token = 4;               // An estimate for most languages and vocabularies.

Status no_memory_for_batch() { return Status::error(Code::out_of_memory, "no memory for a batch of texts"); }

size_t bytes_of(const TextInput& input) {
  return input.text.size() + (input.pair ? input.pair->size() : 0) + input.vectors.size_bytes();
}

}  // namespace

Status TextRunner::State::run(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  control_ = control;
  control_.progress = nullptr;  // The progress of a single batch must not be reported as that of the call.
  for (size_t begin = 0; begin < texts.size(); begin += chunk_.size()) {
    LINFORMER_TRY(fill_chunk(texts, begin));
    LINFORMER_TRY(sort_into_groups());
    if (scores_tokens()) LINFORMER_TRY(token_callbacks_.start(token_callbacks_.context, begin, chunk_.size()));
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

Status TextRunner::State::fill_chunk(const TextList& texts, size_t begin) {
  chunk_.clear();
  for (size_t i = begin, bytes = 0; i < texts.size() && chunk_.size() < texts_at_once_; ++i) {
    const TextInput input = texts[i];
    bytes += bytes_of(input);
    if (!chunk_.empty() && bytes > most_chunk_bytes) break;
    if (!chunk_.try_push(input)) return no_memory_for_batch();
  }
  return {};
}

// Returns an estimate of the number of rows that a text takes.
int64_t TextRunner::State::estimate_rows(const TextInput& input) const {
  if (vector_width_ > 0) return static_cast<int64_t>(input.vectors.size()) / vector_width_ + prefix_rows_;
  const int64_t tokens = static_cast<int64_t>(bytes_of(input)) / bytes_of_a_token + 2;
  const int64_t most = sequences_per_text() * max_tokens_;
  return std::max(on_long_ == OnLong::window ? tokens : std::min(tokens, most), pad_to_) + prefix_rows_;
}

// Sorts the chunk by length and cuts it into groups of similar length, with the longest texts first. The last groups
// have the shortest texts, so that no thread waits long for another at the end.
Status TextRunner::State::sort_into_groups() {
  const size_t count = chunk_.size();
  reports_.clear();
  groups_.clear();
  if (!reports_.try_resize(count) || !order_.try_resize_for_overwrite(count) ||
      !values_.try_assign(count * row_, 0.f)) {
    return no_memory_for_batch();
  }
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    const size_t first = bytes_of(chunk_[a]), second = bytes_of(chunk_[b]);
    return first != second ? first > second : a < b;
  });
  int64_t rows = 0, members = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t more = estimate_rows(chunk_[order_[i]]);
    if (members > 0 && (rows + more > group_rows_ || (members + 1) * sequences_per_text() > max_batch_)) {
      if (!groups_.try_push(i)) return no_memory_for_batch();
      rows = members = 0;
    }
    rows += more;
    ++members;
  }
  return groups_.try_push(static_cast<uint32_t>(count)) ? Status() : no_memory_for_batch();
}

Status TextRunner::State::run_chunk() {
  next_group_.store(0, std::memory_order_relaxed);
  // An earlier call that was stopped or failed may have left sequences in a batch.
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
      LINFORMER_TRY(add_text(worker, order_[i]));
    }
    LINFORMER_TRY(run_batch(worker));
  }
}

// Adds a text's sequences to the worker's batch, and runs the batch when it is full. An error of the text is stored in
// its report. Returns only errors that end the call.
Status TextRunner::State::add_text(Worker* worker, size_t text) {
  if (vector_width_ > 0) return append_vectors(worker, text);
  if (scores_tokens()) reports_[text].status = token_callbacks_.check(chunk_[text]);
  if (!reports_[text].status.ok()) return {};
  TextReader& reader = *worker->reader;
  const Status read = reader.read(chunk_[text], &reports_[text]);
  if (!read.ok()) return read.code() == Code::out_of_memory ? read : Status();
  const int64_t sequences = reader.sequences();
  if (apart_) {
    // The head needs both sequences in one call of the session.
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
    LINFORMER_TRY(append_sequence(worker, text, i, *sequence));
  }
  return {};
}

Status TextRunner::State::append_sequence(Worker* worker, size_t text, int64_t window, const TextSequence& sequence) {
  if (!worker->batch->fits(worker->batch->rows_of(sequence.ids.size()))) LINFORMER_TRY(run_batch(worker));
  if (!worker->texts.try_push(text)) return no_memory_for_batch();
  if (scores_tokens()) {
    const size_t size = sequence.ids.size();
    if (!worker->sequences.try_push({window, worker->offsets.size(), size, sequence.first, sequence.nearest}) ||
        !worker->offsets.try_append(sequence.offsets.data(), size) ||
        !worker->token_texts.try_append(sequence.texts.data(), size)) {
      return no_memory_for_batch();
    }
  }
  return worker->batch->add(sequence.ids, sequence.types);
}

Status TextRunner::State::append_vectors(Worker* worker, size_t text) {
  const TextInput& input = chunk_[text];
  TextReport& report = reports_[text];
  const int64_t count = static_cast<int64_t>(input.vectors.size()) / vector_width_;
  if (input.vectors.size() % static_cast<size_t>(vector_width_) != 0 || count == 0) {
    report.status = Status::error(Code::invalid_argument,
                                  "the text has %zu floats, which are not one or more vectors of %lld floats",
                                  input.vectors.size(), static_cast<long long>(vector_width_));
  } else if (count > max_tokens_) {
    report.beyond = {TextLimit::tokens, 0, count, 0, max_tokens_, false};
    report.status = Status::error(Code::too_long, "the text has %lld vectors, more than the limit of %lld: give fewer",
                                  static_cast<long long>(count), static_cast<long long>(max_tokens_));
  } else if (apart_) {
    report.status = Status::error(Code::invalid_argument, "this head compares two texts, not vectors");
  }
  if (!report.status.ok()) return {};
  report.tokens = report.total_tokens = count;
  if (!worker->batch->fits(count + prefix_rows_)) LINFORMER_TRY(run_batch(worker));
  if (!worker->texts.try_push(text)) return no_memory_for_batch();
  return worker->batch->add_vectors(input.vectors, count);
}

Status TextRunner::State::run_batch(Worker* worker) {
  if (worker->batch->empty()) return {};
  const size_t rows = scores_tokens() ? static_cast<size_t>(worker->batch->rows())
                                      : worker->batch->size() / static_cast<size_t>(sequences_per_text());
  worker->outputs.clear();
  const size_t columns = scores_tokens() ? static_cast<size_t>(shapes_[0]) : row_;
  if (!worker->values.try_resize_for_overwrite(rows * columns)) return no_memory_for_batch();
  size_t offset = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output output = outputs_[i];
    output.values = {worker->values.data() + offset, rows * static_cast<size_t>(shapes_[i])};
    offset += output.values.size();
    if (!worker->outputs.try_push(output)) return no_memory_for_batch();
  }
  RunControl control = control_;
  control.one_thread = control_.one_thread || !worker->alone;
  LINFORMER_TRY(worker->session->run(worker->batch->inputs(), worker->outputs.span(), control));
  if (scores_tokens()) {
    LINFORMER_TRY(pass_token_scores(worker));
  } else {
    add_to_means(*worker);
  }
  worker->clear();
  return {};
}

namespace {

Status not_finite() {
  return Status::error(Code::internal, "the model gave a number that is not finite; check its weights");
}

}  // namespace

// Passes the scores of each sequence of a batch to token_callbacks_. An error of a text is set in its report.
Status TextRunner::State::pass_token_scores(Worker* worker) {
  const std::span<const Input> inputs = worker->batch->inputs();
  const size_t columns = static_cast<size_t>(shapes_[0]);
  const float* values = worker->values.data();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Sequence& sequence = worker->sequences[i];
    const size_t rows = static_cast<size_t>(worker->batch->rows_of(inputs[i].tokens.size()));
    const std::span<const float> scores(values, rows * columns);
    values += rows * columns;
    TextReport& report = reports_[worker->texts[i]];
    if (!report.status.ok()) continue;
    if (!std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); })) {
      report.status = not_finite();
      continue;
    }
    if (!worker->row_tokens.try_resize_for_overwrite(rows)) return no_memory_for_batch();
    const std::span<int64_t> tokens(worker->row_tokens.data(), rows);
    LINFORMER_TRY(worker->session->row_tokens(inputs[i], tokens));
    LINFORMER_TRY(token_callbacks_.on_scores(token_callbacks_.context,
                                             {static_cast<size_t>(worker - workers_.data()),
                                              worker->texts[i],
                                              chunk_[worker->texts[i]],
                                              sequence.window,
                                              report.windows,
                                              inputs[i].tokens.first(sequence.size),
                                              {worker->token_texts.data() + sequence.begin, sequence.size},
                                              {worker->offsets.data() + sequence.begin, sequence.size},
                                              sequence.first,
                                              sequence.nearest,
                                              tokens,
                                              scores,
                                              columns}));
  }
  return {};
}

// Adds the rows of a batch to the values of their texts. The values of a text with several windows become the mean, in
// which each window has the same weight.
void TextRunner::State::add_to_means(const Worker& worker) {
  const size_t each = static_cast<size_t>(sequences_per_text()), rows = worker.texts.size() / each;
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
    if (!finite && report.status.ok()) report.status = not_finite();
  }
}

}  // namespace LINFORMER_NAMESPACE
