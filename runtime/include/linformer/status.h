// Errors as values: a code for the program, a sentence for the person.
//
// The runtime throws nothing and aborts nothing: every fallible function returns Status or Result<T>, which allocate
// nothing themselves. Memory that runs out is Code::out_of_memory wherever it happens; what was made then is freed.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <optional>
#include <utility>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Grouped by who can act: 0x1_ the caller, 0x2_ the machine, 0x3_ the file, 0x4_ this library.
enum class Code : uint32_t {
  ok = 0,
  invalid_argument = 0x10,  // a value that the caller passed is out of range
  too_long = 0x11,          // more tokens, texts or bytes than were planned for, or than fit the memory given
  cancelled = 0x12,         // the caller's flag said so
  io_error = 0x20,          // the operating system refused
  out_of_memory = 0x21,
  corrupt_file = 0x30,  // the bytes contradict the format or themselves
  unsupported = 0x31,   // well-formed, but beyond this build or version
  internal = 0x40,      // a backend failed although its inputs were checked
};

class [[nodiscard]] Status {
 public:
  static constexpr int max_message = 384;  // bytes with the terminator; longer sentences are cut

  Status() { message_[0] = '\0'; }
  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  // One sentence naming the thing that is wrong and what to do. Empty when ok. Owned by this object.
  const char* message() const { return message_; }

  // printf-style. Makes an error; never call it with Code::ok.
  [[gnu::format(printf, 2, 3)]] static Status error(Code code, const char* format, ...);

 private:
  Code code_ = Code::ok;
  char message_[max_message];
};

// A value or the error that prevented it. value() may be called only when ok().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(const Status& status) : status_(status) {}
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

// Returns the error of `expression` from the enclosing function, if it has one.
#define LINFORMER_TRY(expression)                                                                                \
  do {                                                                                                           \
    if (::linformer::Status linformer_status_ = (expression); !linformer_status_.ok()) return linformer_status_; \
  } while (false)

}  // namespace LINFORMER_NAMESPACE
