// Turns the SIGBUS that an access to a truncated mapped file raises into an error message and exit code 1.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace linformer::files {

// The texts that a program writes to standard output and to standard error before it ends because a mapped file was
// truncated. Nothing is written for an empty text.
struct FinalMessage {
  std::string output, error;
};

// Sets the function that formats the error message. Without this call the message is a line on standard error. Call it
// before files are mapped: a signal handler can't allocate memory, so each message is formatted when its file is
// mapped.
void set_final_message(FinalMessage (*format)(const std::string& sentence));

// A guard for the mapping `bytes` of the file `path`. If another process truncates the file while the guard exists, an
// access to a page beyond the new end removes the temporary files (temporary_names.h) and ends the process with exit
// code 1. Any other SIGBUS is handled as it was before. Thread-safe.
class TruncationGuard {
 public:
  TruncationGuard(std::span<const std::byte> bytes, const std::string& path);
  ~TruncationGuard();
  TruncationGuard(const TruncationGuard&) = delete;
  TruncationGuard& operator=(const TruncationGuard&) = delete;

 private:
  struct Mapping;
  friend struct Mappings;
  Mapping* mapping_;
};

}  // namespace linformer::files
