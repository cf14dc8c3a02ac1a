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
  return Status::error(Code::io_error, "cannot %s %s: %s", what, path, ErrorText(error).text);
}

// Closes on every way out; the mapping outlives its descriptor.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

Result<MappedFile> MappedFile::open(const char* path) {
  if (path == nullptr || path[0] == '\0') {
    return Status::error(Code::invalid_argument, "the path of the model file is empty: give the path of a .lnfr file");
  }
  // O_NONBLOCK: opening a FIFO without a writer must not hang before fstat can refuse it.
  Descriptor file{::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) return io_error("open", path, errno);
  struct stat facts {};
  if (::fstat(file.value, &facts) != 0) return io_error("read the size of", path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Status::error(Code::io_error, "%s is not a regular file: give the path of a .lnfr file", path);
  }
  if (facts.st_size <= 0) {
    return Status::error(Code::corrupt_file, "%s is empty: copy or convert it again", path);
  }
  if (static_cast<uint64_t>(facts.st_size) > SIZE_MAX) {
    return Status::error(Code::out_of_memory, "%s has more bytes than this machine can address", path);
  }
  const size_t size = static_cast<size_t>(facts.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED) return io_error("map", path, errno);
  return MappedFile({static_cast<const std::byte*>(address), size});
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
