// A queue of records that are computed together in a call of the library. Answers come in the order of the records.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linformer/text_input.h"
#include "models/job.h"

namespace linformer::cli {

// Throws the error `status` that the library returned when an object was to be created. Throws UsageError for
// invalid_argument, because an option of the command line is then wrong, and DataError for other errors, because the
// model then lacks something.
[[noreturn]] void throw_creation_error(const Status& status);

// Returns the error message for a text that has no answer. The message names the option that helps, if there is one.
// `can_window` is true if --on-long window would help: the command has that choice, and the user did not make it.
std::string error_message_of(const TextReport& report, bool can_window);
// Returns a function that calls error_message_of() with `can_window`.
std::function<std::string(const TextReport& report)> error_explainer(bool can_window);

class TextQueue {
 public:
  // Receives the values that were computed for inputs[index]. Returns false to stop the computation.
  using Answer = std::function<bool(size_t index, const TextReport& report, std::span<const float> values)>;
  using Compute = std::function<Status(std::span<const TextInput> inputs, const Answer& answer)>;
  using Sink = std::function<void(Job& job, std::span<const float> values)>;

  using Explain = std::function<std::string(const TextReport& report)>;

  // A call has at most `max_texts` texts. `explain` returns the error message of a text that has no answer.
  TextQueue(size_t max_texts, Explain explain, Compute compute, Sink sink)
      : most_(max_texts),
        explain_(std::move(explain)),
        compute_(std::move(compute)),
        sink_(std::move(sink)),
        wanted_(std::min<size_t>(16, max_texts)) {}

  // Queues a text. Its job is passed to the sink during the call that computes it. A job that already has an error is
  // not computed, but keeps its place among the answers.
  void add(std::unique_ptr<Job> job, std::string text, std::optional<std::string> pair);
  void add_vectors(std::unique_ptr<Job> job, std::span<const float> values);
  // Computes all queued texts. After the call every job was passed to the sink.
  void flush();

 private:
  struct Entry {
    std::unique_ptr<Job> job;
    std::string text;
    std::optional<std::string> pair;
    std::vector<float> vectors;
  };
  void append(Entry entry, size_t bytes);
  void pass_answer(Job& job, const TextReport& report, std::span<const float> values);

  size_t most_;
  Explain explain_;
  Compute compute_;
  Sink sink_;
  std::vector<Entry> entries_;
  size_t bytes_ = 0;
  size_t wanted_;  // The number of entries that start a call. Quick calls raise it, and slow ones lower it.
  std::vector<TextInput> inputs_;
  std::vector<Job*> jobs_;
};

}  // namespace linformer::cli
