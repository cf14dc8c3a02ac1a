#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "system/descriptors.h"
#include "system/process.h"

namespace linformer::system {

void prepare_process(int*, char***) {}

void open_missing_standard_streams() {
  for (const int descriptor : {standard_input, standard_output, standard_error}) {
    // /dev/null is opened read-only, so that writing to the descriptor still fails.
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) < 0) return;
  }
}

void ignore_closed_pipes() { ::signal(SIGPIPE, SIG_IGN); }

void ignore_file_size_signal() { ::signal(SIGXFSZ, SIG_IGN); }

std::string own_program_path() {
#if defined(__APPLE__)
  char path[4096];
  uint32_t size = sizeof path;
  return ::_NSGetExecutablePath(path, &size) == 0 ? path : "";
#else
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
#endif
}

std::string become_program(char** arguments) {
  const std::filesystem::path here = own_program_path();
  if (!here.empty()) ::execv((here.parent_path() / arguments[0]).c_str(), arguments);
  ::execvp(arguments[0], arguments);
  return std::strerror(errno);
}

}  // namespace linformer::system
