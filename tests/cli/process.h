// Runs the program as a process, and returns what users and scripts see.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace linformer_test {

// Sanitizers keep freed memory. Therefore only builds without them can measure how much memory the program holds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool measures_memory = false;
#else
constexpr bool measures_memory = true;
#endif
// Tests that watch the memory of a program divide the amount of its input by this number. If memory can't be measured,
// less input is enough to run every path.
constexpr int input_divisor = measures_memory ? 1 : 8;

struct Ran {
  int code = -1;  // exit code, or 128 + the signal's number if a signal ended the program
  std::string out, err;
};

// Runs `linformer arguments...` with `input` as its standard input.
Ran run(const std::vector<std::string>& arguments, const std::string& input = "");
// Runs another program in the same way.
Ran run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input = "");
// Does the same as run(), but standard output goes to the file or device `path`, and `out` stays empty.
Ran run_into(const std::string& path, const std::vector<std::string>& arguments, const std::string& input = "");

std::vector<std::string> lines_of(const std::string& text);
std::vector<nlohmann::json> json_lines(const std::string& text);

// A running process of the program, whose input a test writes and whose output it reads line by line.
class Conversation {
 public:
  explicit Conversation(const std::vector<std::string>& arguments);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Returns false if the process no longer reads.
  bool write(const std::string& bytes);
  void close_input();
  // Closes the end of the pipe from which the test reads standard output.
  void close_output();
  // Returns the next line, or "" if the output ended or nothing came within ten seconds.
  std::string read_line();
  // Returns the resident memory in bytes.
  uint64_t resident() const;
  void signal(int number) const;
  // Waits until the process ends, and returns its exit code as in Ran::code.
  int wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1;
  std::string buffer_;
};

}  // namespace linformer_test
