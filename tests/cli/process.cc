#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace linformer_test {
namespace {

constexpr pid_t no_process = -1;

struct Child {
  pid_t pid;
  int in, out, err;
};

// Starts the program. If `out_path` is empty, standard output is a pipe. If `keep_err` is true, standard error is a
// pipe; otherwise it is discarded.
Child start(const std::string& program, const std::vector<std::string>& arguments, const std::string& out_path,
            bool keep_err) {
  ::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2] = {-1, -1}, err[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return {};
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
  if (out_path.empty()) {
    ::posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  if (keep_err) {
    ::posix_spawn_file_actions_adddup2(&files, err[1], STDERR_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  sigset_t pipe_signal;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  // posix_spawn(), unlike fork(), doesn't copy the page tables, which are large with the address sanitizer.
  pid_t pid = no_process;
  if (::posix_spawn(&pid, program.c_str(), &files, &attributes, argv.data(), environ) != 0) pid = no_process;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(in[0]);
  ::close(out[1]);
  ::close(err[1]);
  return {pid, in[1], out[0], err[0]};
}

int status_of(pid_t pid) {
  if (pid == no_process) return 127;
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Ran talk(const Child& child, const std::string& input) {
  Ran result;
  size_t written = 0;
  ::fcntl(child.in, F_SETFL, O_NONBLOCK);
  pollfd fds[] = {{child.in, POLLOUT, 0}, {child.out, POLLIN, 0}, {child.err, POLLIN, 0}};
  const auto close_input = [&] {
    ::close(child.in);
    fds[0].fd = -1;
  };
  while (fds[1].fd >= 0 || fds[2].fd >= 0) {
    if (fds[0].fd >= 0 && written == input.size()) close_input();
    ::poll(fds, 3, -1);
    if (fds[0].fd >= 0 && fds[0].revents != 0) {
      const ssize_t count = ::write(child.in, input.data() + written, input.size() - written);
      if (count > 0) written += static_cast<size_t>(count);
      if (count < 0 && errno != EAGAIN) close_input();
    }
    for (int i : {1, 2}) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[1 << 16];
      const ssize_t count = ::read(fds[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        (i == 1 ? result.out : result.err).append(buffer, static_cast<size_t>(count));
      } else {
        ::close(fds[i].fd);
        fds[i].fd = -1;
      }
    }
  }
  if (fds[0].fd >= 0) close_input();
  result.code = status_of(child.pid);
  return result;
}

}  // namespace

Ran run(const std::vector<std::string>& arguments, const std::string& input) {
  return talk(start(LINFORMER_PROGRAM, arguments, "", true), input);
}

Ran run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input) {
  return talk(start(program, arguments, "", true), input);
}

Ran run_into(const std::string& path, const std::vector<std::string>& arguments, const std::string& input) {
  return talk(start(LINFORMER_PROGRAM, arguments, path, true), input);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> values;
  for (const std::string& line : lines_of(text)) values.push_back(nlohmann::json::parse(line));
  return values;
}

Conversation::Conversation(const std::vector<std::string>& arguments) {
  const Child child = start(LINFORMER_PROGRAM, arguments, "", false);
  pid_ = child.pid;
  input_ = child.in;
  output_ = child.out;
  ::close(child.err);
}

Conversation::~Conversation() {
  close_input();
  close_output();
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    status_of(pid_);
  }
}

bool Conversation::write(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(input_, bytes.data() + done, bytes.size() - done);
    if (count < 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

void Conversation::close_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

void Conversation::close_output() {
  if (output_ >= 0) ::close(output_);
  output_ = -1;
}

std::string Conversation::read_line() {
  for (;;) {
    const size_t newline = buffer_.find('\n');
    if (newline != std::string::npos) {
      std::string line = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      return line;
    }
    pollfd readable{output_, POLLIN, 0};
    if (::poll(&readable, 1, 10000) <= 0) return "";
    char bytes[1 << 16];
    const ssize_t count = ::read(output_, bytes, sizeof bytes);
    if (count <= 0) return "";
    buffer_.append(bytes, static_cast<size_t>(count));
  }
}

uint64_t Conversation::resident() const {
  std::ifstream stream("/proc/" + std::to_string(pid_) + "/statm");
  uint64_t total = 0, pages = 0;
  stream >> total >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void Conversation::signal(int number) const { ::kill(pid_, number); }

int Conversation::wait() {
  const int code = status_of(pid_);
  pid_ = -1;
  return code;
}

}  // namespace linformer_test
