// A queue of records that are computed together in a call of the library. Answers come in the order of the records.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linformer/text_input.h"
#include "models/job.h"

namespace linformer::cli {

// Throws an error of creating an object of the library: UsageError if a flag is wrong (invalid_argument), otherwise
// DataError, because the model lacks something.
[[noreturn]] void refuse(const Status& status);

// Returns the error message of a text that has no answer, with the flag that helps. `can_window` is true if the command
// has the choice --on-long window.
std::string explained(const TextReport& report, bool can_window);
// Returns a function that calls explained() with `can_window`.
std::function<std::string(const TextReport& report)> explaining(bool can_window);

class TextQueue {
 public:
  // Receives the values of input `index`. Returns false if no more inputs are wanted.
  using Answer = std::function<bool(size_t index, const TextReport& report, std::span<const float> values)>;
  using Compute = std::function<Status(std::span<const TextInput> inputs, const Answer& answer)>;
  using Sink = std::function<void(Job& job, std::span<const float> values)>;

  using Explain = std::function<std::string(const TextReport& report)>;

  // A call has at most `most` texts. `explain` returns the error message of a text that has no answer.
  TextQueue(size_t most, Explain explain, Compute compute, Sink sink)
      : most_(most), explain_(std::move(explain)), compute_(std::move(compute)), sink_(std::move(sink)) {}

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
  void take(Job& job, const TextReport& report, std::span<const float> values);

  size_t most_;
  Explain explain_;
  Compute compute_;
  Sink sink_;
  std::vector<Entry> entries_;
  size_t bytes_ = 0;
  size_t wanted_ = 16;  // The number of entries that start a call. It grows while calls are quick.
  std::vector<TextInput> inputs_;
  std::vector<Job*> jobs_;
};

}  // namespace linformer::cli
