#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace linformer {
namespace {

// strerror() shares one buffer among threads; glibc's strerrordesc_np() is missing elsewhere.
struct ErrorText {
  char text[128] = "unknown error";
  explicit ErrorText(int error) { keep(strerror_r(error, text, sizeof text)); }
  void keep(const char* message) {  // GNU strerror_r may answer with static text
    if (message != text) std::strncpy(text, message, sizeof text - 1);
  }
  void keep(int) {}  // POSIX strerror_r
};

Status io_error(const char* what, const char* path, int error) {
  return Status::error(error == ENOMEM ? Code::out_of_memory : Code::io_error, "cannot %s %s: %s", what, path,
                       ErrorText(error).text);
}

// Closes on every way out; the mapping outlives its descriptor.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

// An open regular file that isn't empty.
struct OpenFile {
  Descriptor descriptor{-1};
  size_t size = 0;
};

Status open_file(const char* path, OpenFile* file) {
  if (path == nullptr || path[0] == '\0') {
    return Status::error(Code::invalid_argument, "the path of the model file is empty: give the path of a .lnfr file");
  }
  // O_NONBLOCK: opening a FIFO without a writer must not hang before fstat can refuse it.
  file->descriptor.value = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->descriptor.value < 0) return io_error("open", path, errno);
  struct stat facts {};
  if (::fstat(file->descriptor.value, &facts) != 0) return io_error("read the size of", path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Status::error(Code::io_error, "%s is not a regular file: give the path of a .lnfr file", path);
  }
  if (facts.st_size <= 0) {
    return Status::error(Code::corrupt_file, "%s is empty: copy or convert it again", path);
  }
  if (static_cast<uint64_t>(facts.st_size) > SIZE_MAX) {
    return Status::error(Code::out_of_memory, "%s has more bytes than this machine can address", path);
  }
  file->size = static_cast<size_t>(facts.st_size);
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const char* path) {
  OpenFile file;
  LINFORMER_TRY(open_file(path, &file));
  void* address = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor.value, 0);
  if (address == MAP_FAILED) return io_error("map", path, errno);
  return MappedFile({static_cast<const std::byte*>(address), file.size});
}

Result<MappedFile> MappedFile::read(const char* path) {
  OpenFile file;
  LINFORMER_TRY(open_file(path, &file));
  void* address = ::mmap(nullptr, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return Status::error(Code::out_of_memory, "no memory for the %zu bytes of %s: map it instead", file.size, path);
  }
  auto* bytes = static_cast<std::byte*>(address);
  MappedFile copy({bytes, file.size});
  for (size_t done = 0; done < file.size;) {
    const ssize_t count = ::read(file.descriptor.value, bytes + done, file.size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("read", path, errno);
    if (count == 0) {
      return Status::error(Code::io_error, "%s ended after %zu of its %zu bytes: it was changed meanwhile", path, done,
                           file.size);
    }
    done += static_cast<size_t>(count);
  }
  return copy;
}

MappedFile::~MappedFile() { unmap(bytes_); }

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(other.release()) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap(bytes_);
    bytes_ = other.release();
  }
  return *this;
}

std::span<const std::byte> MappedFile::release() { return std::exchange(bytes_, {}); }

void MappedFile::unmap(std::span<const std::byte> bytes) {
  if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace linformer
