// One altered file goes through Model::load: a clear error, or a model that the caller may use like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "linformer/model.h"

namespace linformer_test {

// What is done with each altered file's model that loads: returns an empty string, or what is wrong with it.
using OnLoaded = std::string (*)(const std::shared_ptr<const linformer::Model>& model);
// Reads all that the description refers to.
std::string touch_everything(const std::shared_ptr<const linformer::Model>& model);
// The above, then a session and a tokenizer on it: each gives a clear error or runs.
std::string run_model(const std::shared_ptr<const linformer::Model>& model);
extern const OnLoaded on_loaded;

// Totals of one kind of alteration.
class Outcome {
 public:
  explicit Outcome(const char* kind) : kind_(kind) {}
  // Prints the counts.
  ~Outcome();

  // Loads `file` (64-byte aligned) and fails the doctest case, naming what(), when the error is not clear, when the
  // load allocated more than the file's size and a constant, or when on_loaded objects.
  void load(std::span<const std::byte> file, const linformer::LoadOptions& options,
            const std::function<std::string()>& what);
  int64_t errors() const { return errors_; }
  int64_t loaded() const { return loaded_; }
  // The sentence of the last error, empty after a load that succeeded.
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

// A code that blames the file, and a sentence.
bool is_clear(const linformer::Status& status);

// Makes [begin, end) unreadable under the address sanitizer for as long as this lives.
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
