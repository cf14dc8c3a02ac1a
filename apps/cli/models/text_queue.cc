#include "models/text_queue.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "command_line/errors.h"

namespace linformer::cli {
namespace {

// A call of the library starts at the latest when the queued texts have this many bytes.
constexpr size_t most_bytes = size_t{8} << 20;
// The number of texts in a call is adapted until a call takes between these times. Answers then come steadily, and
// threads seldom wait for the last text of a call.
constexpr double short_seconds = 0.2, long_seconds = 1;

// Returns the error message for a pair of texts that doesn't fit into a window. The message names the option that
// helps, if there is one.
std::string no_room_sentence(const BeyondLimit& beyond) {
  const char* const names[] = {"first", "second"};
  const bool none = beyond.limit == TextLimit::room;
  return std::string("the ") + names[beyond.text] + " text has " + std::to_string(beyond.tokens) +
         " tokens, which leave " + (none ? "no room" : std::to_string(beyond.room)) + " for the " +
         names[1 - beyond.text] + " in a window of " + std::to_string(beyond.max_tokens) +
         (!none               ? ": lower --overlap to less than that"
          : beyond.other_fits ? ": choose the other text with --truncation"
                              : "");
}

}  // namespace

void throw_creation_error(const Status& status) {
  if (status.code() == Code::invalid_argument) throw UsageError(status.message());
  throw DataError(status.message());
}

std::string error_message_of(const TextReport& report, bool can_window) {
  const BeyondLimit& beyond = report.beyond;
  std::string sentence = report.status.message();
  if (beyond.limit == TextLimit::room || beyond.limit == TextLimit::overlap) sentence = no_room_sentence(beyond);
  if (report.status.code() == Code::too_long) {
    sentence += can_window ? "; use --on-long truncate or window" : "; use --on-long truncate";
  }
  return sentence;
}

std::function<std::string(const TextReport& report)> error_explainer(bool can_window) {
  return [can_window](const TextReport& report) { return error_message_of(report, can_window); };
}

void TextQueue::add(std::unique_ptr<Job> job, std::string text, std::optional<std::string> pair) {
  const size_t bytes = text.size() + (pair ? pair->size() : 0) + job->own.bytes();
  append({std::move(job), std::move(text), std::move(pair), {}}, bytes);
}

void TextQueue::add_vectors(std::unique_ptr<Job> job, std::span<const float> values) {
  append({std::move(job), {}, {}, {values.begin(), values.end()}}, values.size_bytes());
}

void TextQueue::append(Entry entry, size_t bytes) {
  entries_.push_back(std::move(entry));
  bytes_ += bytes;
  if (entries_.size() < wanted_ && bytes_ < most_bytes) return;
  const auto begin = std::chrono::steady_clock::now();
  flush();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (seconds < short_seconds) wanted_ = std::min(2 * wanted_, most_);
  if (seconds > long_seconds) wanted_ = std::max<size_t>(wanted_ / 2, 1);
}

void TextQueue::flush() {
  inputs_.clear();
  jobs_.clear();
  for (const Entry& entry : entries_) {
    if (!entry.job->error.empty()) continue;
    TextInput input;
    input.text = entry.text;
    if (entry.pair) input.pair = *entry.pair;
    input.vectors = entry.vectors;
    inputs_.push_back(input);
    jobs_.push_back(entry.job.get());
  }
  // No exception may pass through the library. An exception of the sink is kept and thrown after the call.
  std::exception_ptr thrown;
  size_t next = 0;  // The index of the next entry for the sink.
  const auto pass_errors = [&] {
    for (; next < entries_.size() && !entries_[next].job->error.empty(); ++next) sink_(*entries_[next].job, {});
  };
  const auto answer = [&](size_t index, const TextReport& report, std::span<const float> values) {
    try {
      pass_errors();
      pass_answer(*jobs_[index], report, values);
      ++next;
    } catch (...) {
      thrown = std::current_exception();
    }
    return thrown == nullptr;
  };
  if (!inputs_.empty()) {
    const Status status = compute_(inputs_, answer);
    if (thrown) std::rethrow_exception(thrown);
    check(status);
  }
  pass_errors();
  entries_.clear();
  bytes_ = 0;
}

void TextQueue::pass_answer(Job& job, const TextReport& report, std::span<const float> values) {
  job.tokens = report.tokens;
  job.total_tokens = report.total_tokens;
  job.windows = report.windows;
  job.error = report.status.ok() ? "" : explain_(report);
  sink_(job, values);
}

}  // namespace linformer::cli
