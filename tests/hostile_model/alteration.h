// Loads one altered file with Model::load. The result must be a clear error or a model that the caller may use like any
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "linformer/model.h"

namespace linformer_test {

// A function that is called with each altered model that loads. It returns what is wrong with the model, or "".
using OnLoaded = std::string (*)(const std::shared_ptr<const linformer::Model>& model);
// Reads the data of all tensors, and every text and list of the description. Returns "".
std::string touch_everything(const std::shared_ptr<const linformer::Model>& model);
// Does the same as touch_everything(), and then makes a tokenizer and a session of the model. Each must give a clear
// error or run. In builds with sanitizers only every eighth model runs.
std::string run_model(const std::shared_ptr<const linformer::Model>& model);
extern const OnLoaded on_loaded;

// The totals of one kind of alteration.
class Outcome {
 public:
  explicit Outcome(const char* kind) : kind_(kind) {}
  // Prints the counts.
  ~Outcome();

  // Loads `file`, which must be 64-byte aligned. Fails the doctest case and names what() if the error is not clear, if
  // the load allocated more than the file's size and a constant, or if on_loaded returns a problem.
  void load(std::span<const std::byte> file, const linformer::LoadOptions& options,
            const std::function<std::string()>& what);
  int64_t errors() const { return errors_; }
  int64_t loaded() const { return loaded_; }
  // Returns the message of the last error, or "" after a load that succeeded.
  const std::string& message() const { return message_; }
  linformer::Code code() const { return code_; }

 private:
  const char* kind_;
  int64_t errors_ = 0, loaded_ = 0;
  uint64_t peak_bytes_ = 0;
  double longest_seconds_ = 0;
  std::string message_;
  linformer::Code code_ = linformer::Code::ok;
};

// Returns whether the status has a code that blames the file, and a sentence.
bool is_clear_error(const linformer::Status& status);

// Makes [begin, end) unreadable under the address sanitizer as long as the object exists.
class Unreadable {
 public:
  Unreadable(const std::byte* begin, const std::byte* end);
  ~Unreadable();
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;

 private:
  const std::byte* begin_;
  size_t size_;
};

}  // namespace linformer_test
