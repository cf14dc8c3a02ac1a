#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "system/descriptors.h"

namespace linformer::system {
namespace {

FileFacts facts_from(const struct stat& found) {
  FileFacts facts;
  facts.kind = S_ISREG(found.st_mode)    ? FileFacts::Kind::regular
               : S_ISDIR(found.st_mode)  ? FileFacts::Kind::folder
               : S_ISFIFO(found.st_mode) ? FileFacts::Kind::pipe
                                         : FileFacts::Kind::other;
  if (facts.regular()) facts.size = static_cast<uint64_t>(found.st_size);
  facts.device = static_cast<uint64_t>(found.st_dev);
  facts.number = static_cast<uint64_t>(found.st_ino);
  return facts;
}

}  // namespace

FileFacts facts_of(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? facts_from(found) : FileFacts();
}

FileFacts facts_of(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 ? facts_from(found) : FileFacts();
}

int open_for_reading(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }

void close_descriptor(int descriptor) { ::close(descriptor); }

std::ptrdiff_t read_some(int descriptor, void* to, size_t count) {
  for (;;) {
    const ssize_t got = ::read(descriptor, to, count);
    if (got >= 0 || errno != EINTR) return got;
  }
}

bool has_bytes_now(int descriptor) {
  pollfd readable{descriptor, POLLIN, 0};
  return ::poll(&readable, 1, 0) != 0;
}

bool standard_input_has_bytes() {
  const FileFacts facts = facts_of(standard_input);
  if (facts.regular()) return ::lseek(standard_input, 0, SEEK_CUR) < static_cast<off_t>(facts.size);
  if (facts.kind != FileFacts::Kind::pipe) return false;
  pollfd pipe{standard_input, POLLIN, 0};
  while (::poll(&pipe, 1, -1) < 0 && errno == EINTR) {
  }
  int bytes = 0;
  return ::ioctl(standard_input, FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace linformer::system
