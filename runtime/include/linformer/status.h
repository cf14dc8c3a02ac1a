// Errors as values: a code for the program and a sentence for the person.
//
// The runtime throws no exception and never aborts. Every function that can fail returns Status or Result<T>, which
// allocate nothing themselves. Code::out_of_memory is returned wherever memory runs out, and everything that the
// function had made is freed.
//
//   linformer::Status check(const linformer::Model& model) {
//     LINFORMER_TRY(model.verify());  // Returns the error, if there is one.
//     return {};                      // A default Status is ok().
//   }
#pragma once

#include <cstdarg>
#include <cstdint>
#include <optional>
#include <utility>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The codes are grouped by who can act on the error: 0x1_ the caller, 0x2_ the machine, 0x3_ the file, 0x4_ this
// library.
enum class Code : uint32_t {
  ok = 0,
  invalid_argument = 0x10,  // The caller passed a value that is out of range.
  too_long = 0x11,   // There are more tokens, texts or bytes than were planned for, or than fit into the given memory.
  cancelled = 0x12,  // The caller's flag cancelled the call.
  io_error = 0x20,   // The operating system reported an error.
  out_of_memory = 0x21,
  corrupt_file = 0x30,  // The bytes contradict the format or each other.
  unsupported = 0x31,   // The input is well-formed, but this build or version can't process it.
  internal = 0x40,      // A backend failed although its inputs were checked.
};

class [[nodiscard]] Status {
 public:
  static constexpr int max_message = 384;  // In bytes, with the terminator. Longer sentences are cut.

  Status() { message_[0] = '\0'; }
  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  // Returns one sentence that names what is wrong and says what to do. It is empty if ok(). This object owns it.
  const char* message() const { return message_; }

  // Makes an error from a printf format. `code` must not be Code::ok.
  [[gnu::format(printf, 2, 3)]] static Status error(Code code, const char* format, ...);

 private:
  Code code_ = Code::ok;
  char message_[max_message];
};

// A value, or the error that prevented it. value(), * and -> may be used only if ok().
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

// Evaluates `expression`, a Status, and returns it from the enclosing function if it is an error.
#define LINFORMER_TRY(expression)                                                                                \
  do {                                                                                                           \
    if (::linformer::Status linformer_status_ = (expression); !linformer_status_.ok()) return linformer_status_; \
  } while (false)

}  // namespace LINFORMER_NAMESPACE
