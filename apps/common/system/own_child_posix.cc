#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "system/own_child.h"
#include "system/process.h"

extern char** environ;

namespace linformer::system {
namespace {

// Returns paths of this program, in the order in which to try them.
std::vector<std::string> own_paths() {
#if defined(__linux__)
  // If /proc is not mounted, the child is started by the path by which this program was started.
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return {"/proc/self/exe", started == nullptr ? "" : started};
#else
  return {own_program_path()};
#endif
}

}  // namespace

ChildOutput output_of_own_child(const std::vector<std::string>& arguments) {
  std::string name = "linformer";
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers = {name.data()};
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("the system could not create a pipe to a child process");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  ::posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  int failed = -1;  // The value of errno, 0 if the child was started, or -1 if no path is known.
  for (const std::string& program : own_paths()) {
    if (failed != 0 && !program.empty()) {
      failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
    }
  }
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ChildOutput output;
  char buffer[4096];
  for (ssize_t count = 0; failed == 0 && (count = ::read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) output.text.append(buffer, static_cast<size_t>(count));
  }
  ::close(ends[0]);
  if (failed != 0) {
    throw std::runtime_error("the system could not start this program as a child process" +
                             (failed > 0 ? std::string(": ") + std::strerror(failed) : ""));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) output.signal = WTERMSIG(status);
  return output;
}

void end_with_parent() {
#if defined(__linux__)
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

}  // namespace linformer::system
