// The program as a process: what users and scripts see of it.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace linformer_test {

// Sanitizers keep freed memory, so only ordinary builds can say how much is held.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool measures_memory = false;
#else
constexpr bool measures_memory = true;
#endif
// What goes through a program whose memory is watched; where it can't be measured, enough to go through every path.
constexpr int watched_share = measures_memory ? 1 : 8;

struct Ran {
  int code = -1;  // exit status; 128 + the signal's number when one killed it
  std::string out, err;
};

// Runs `linformer arguments...` with `input` as its standard input.
Ran run(const std::vector<std::string>& arguments, const std::string& input = "");
// The same for another program.
Ran run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input = "");
// The same as run() with standard output going to the file or device `path`; out stays empty.
Ran run_into(const std::string& path, const std::vector<std::string>& arguments, const std::string& input = "");

std::vector<std::string> lines_of(const std::string& text);
std::vector<nlohmann::json> json_lines(const std::string& text);

// A process to talk with.
class Conversation {
 public:
  explicit Conversation(const std::vector<std::string>& arguments);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // False when the process no longer reads.
  bool write(const std::string& bytes);
  void close_input();
  // Its reader's end of standard output.
  void close_output();
  // The next line; "" when none came within ten seconds.
  std::string read_line();
  // Resident memory in bytes.
  uint64_t resident() const;
  void signal(int number) const;
  // Waits for the end.
  int wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1;
  std::string buffer_;
};

}  // namespace linformer_test
