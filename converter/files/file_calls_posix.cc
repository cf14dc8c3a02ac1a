#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "converter/files/file_calls.h"

namespace linformer::files {

int create_file(const std::string& path, const std::string& permissions_of) {
  constexpr mode_t any_file = 0666;
  struct stat facts {};
  // The new file gets no permission that the replaced file doesn't have.
  const mode_t mode = ::stat(permissions_of.c_str(), &facts) == 0 ? facts.st_mode & any_file : any_file;
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int open_device_or_fifo(const std::string& path) { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY); }

int duplicate(int descriptor) { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); }

void close_quietly(int descriptor) { ::close(descriptor); }

bool close_checked(int descriptor) { return ::close(descriptor) == 0 || errno == EINTR; }

std::ptrdiff_t write_some(int descriptor, const void* bytes, size_t count) { return ::write(descriptor, bytes, count); }

std::ptrdiff_t write_some_at(int descriptor, const void* bytes, size_t count, uint64_t offset) {
  return ::pwrite(descriptor, bytes, count, static_cast<off_t>(offset));
}

int sync_file(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // The user may have the permission to write into the folder but not to read it. Then only the sync is omitted.
  if (descriptor < 0) return 0;
  const int error = sync_file(descriptor);
  ::close(descriptor);
  // Some file systems can't sync folders.
  return error == EINVAL || error == ENOTSUP ? 0 : error;
}

bool rename_over(const std::string& from, const std::string& to) { return std::rename(from.c_str(), to.c_str()) == 0; }

void remove_file(const char* path) { ::unlink(path); }

bool may_read(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

int64_t process_id() { return ::getpid(); }

}  // namespace linformer::files
