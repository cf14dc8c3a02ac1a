// Turns the SIGBUS that follows when a mapped file is truncated into an error message and exit code 1.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace linformer::files {

// What a program writes to standard output and to standard error before it ends because a mapped file was truncated. An
// empty string writes nothing.
struct FinalMessage {
  std::string output, error;
};

// Sets how the program formats the error message that it ends with; without this call the message is a line on standard
// error. Call it before files are mapped: a signal handler can't allocate, so each message is formatted when its file
// is mapped.
void set_final_message(FinalMessage (*format)(const std::string& sentence));

// While a LostFile exists, an access to pages of `bytes` that the file named `path` lost when it was truncated ends the
// process with exit code 1, after temporary files are removed (temporary_names.h). Any other SIGBUS is handled as
// before. Thread-safe.
class LostFile {
 public:
  LostFile(std::span<const std::byte> bytes, const std::string& path);
  ~LostFile();
  LostFile(const LostFile&) = delete;
  LostFile& operator=(const LostFile&) = delete;

 private:
  struct Mapping;
  friend struct Mappings;
  Mapping* mapping_;
};

}  // namespace linformer::files
