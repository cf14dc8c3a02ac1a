// A mapped file that somebody truncates: an error, not the process's end by SIGBUS.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace linformer::files {

// What a program writes when it ends because of a file, to standard output and to standard error; "": nothing.
struct LastWords {
  std::string output, error;
};

// Sets how the program formats the error message that it ends with; without this call the message is a line on standard
// error. Call it before files are mapped: a signal handler can't allocate, so each message is formatted when its file is
// mapped.
void set_last_words(LastWords (*words_of)(const std::string& sentence));

// While it lives, an access to pages of `bytes` that the file named `path` no longer has ends the process with exit
// code 1, after temporary files are removed (temporary_names.h). Any other SIGBUS goes the way that it went before.
// Thread-safe.
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
