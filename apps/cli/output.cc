#include "output.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "errors.h"

namespace linformer::cli {
namespace {

constexpr size_t flush_bytes = 1 << 16;

void write_all(int fd, const char* bytes, size_t count, const std::string& name) {
  while (count > 0) {
    const ssize_t written = ::write(fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw OutputClosed{};
    if (written < 0) throw DataError(name + ": can't be written: " + std::strerror(errno));
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

// What a signal handler may touch: set before `armed`, read only while `armed`.
char temporary_name[PATH_MAX];
volatile sig_atomic_t armed = 0;

void remove_temporary(int signal_number) {
  if (armed) ::unlink(temporary_name);
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

void arm(const std::string& name) {
  if (name.size() >= sizeof temporary_name) return;
  std::memcpy(temporary_name, name.c_str(), name.size() + 1);
  armed = 1;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      action.sa_handler = remove_temporary;
      ::sigaction(number, &action, nullptr);
    }
  }
}

}  // namespace

void Output::write(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= flush_bytes) flush();
}

void Output::flush() {
  // Emptied first: bytes that failed are not tried again by whoever cleans up.
  std::string bytes;
  bytes.swap(buffer_);
  write_all(fd_, bytes.data(), bytes.size(), name_);
  bytes.clear();
  buffer_.swap(bytes);
}

Output& standard_output() {
  static Output output(STDOUT_FILENO, "standard output");
  return output;
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  if (path == "-") {
    path_ = "standard output";
    standard_output().flush();
    fd_ = STDOUT_FILENO;
    return;
  }
  if (char* resolved = ::realpath(path.c_str(), nullptr)) {  // a link stays a link: its target is replaced
    path_ = resolved;
    std::free(resolved);
  }
  struct stat properties {};
  if (::stat(path_.c_str(), &properties) == 0 && !S_ISREG(properties.st_mode)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) throw DataError(path + ": can't be written: " + std::strerror(errno));
    return;
  }
  temporary_ = path_ + ".XXXXXX";
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) {
    const int reason = errno;
    temporary_.clear();
    throw DataError(path + ": can't be written: " + std::strerror(reason) + "; check its folder");
  }
  arm(temporary_);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd_, 0666 & ~mask) != 0) throw DataError(path + ": " + std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    armed = 0;
  }
}

void AtomicFile::write(const void* bytes, size_t count) {
  write_all(fd_, static_cast<const char*>(bytes), count, path_);
}

void AtomicFile::rewrite_start(std::string_view bytes) {
  if (::lseek(fd_, 0, SEEK_SET) != 0) throw DataError(path_ + ": can't be rewritten: " + std::strerror(errno));
  write(bytes.data(), bytes.size());
}

void AtomicFile::commit() {
  if (temporary_.empty()) return;
  if (::fsync(fd_) != 0 || ::close(std::exchange(fd_, -1)) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw DataError(path_ + ": can't be written: " + std::strerror(errno));
  }
  armed = 0;
  temporary_.clear();
}

}  // namespace linformer::cli
