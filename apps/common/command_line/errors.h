// Exceptions that end a command. run_program() catches them, prints the sentence and returns the exit code.
#pragma once

#include <stdexcept>
#include <string>

#include "linformer/status.h"

namespace linformer::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_data = 1;   // A model, an input or a system call failed, or some records were bad.
inline constexpr int exit_usage = 2;  // The command line is wrong.

class CommandError : public std::runtime_error {
 public:
  CommandError(int code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

class DataError : public CommandError {
 public:
  explicit DataError(const std::string& sentence) : CommandError(exit_data, sentence) {}
};

class UsageError : public CommandError {
 public:
  explicit UsageError(const std::string& sentence) : CommandError(exit_usage, sentence) {}
};

// Thrown if the reader of standard output closed it (EPIPE). The program then ends without an error message.
struct OutputClosed {};

inline void check(const Status& status) {
  if (!status.ok()) throw DataError(status.message());
}

template <class T>
T value_or_throw(Result<T> result) {
  check(result.status());
  return std::move(*result);
}

}  // namespace linformer::cli
