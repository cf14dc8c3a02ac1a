#include "io/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/checked.h"

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

Status check_file(int descriptor, const char* name, size_t* size) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return io_error("read the size of", name, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Status::error(Code::io_error, "%s is not a regular file: give a .lnfr file", name);
  }
  if (facts.st_size <= 0) return Status::error(Code::corrupt_file, "%s is empty: copy or convert it again", name);
  if (static_cast<uint64_t>(facts.st_size) > SIZE_MAX) {
    return Status::error(Code::out_of_memory, "%s has more bytes than this machine can address", name);
  }
  *size = static_cast<size_t>(facts.st_size);
  return {};
}

Status open_file(const char* path, OpenFile* file) {
  if (path == nullptr || path[0] == '\0') {
    return Status::error(Code::invalid_argument, "the path of the model file is empty: give the path of a .lnfr file");
  }
  // O_NONBLOCK: opening a FIFO without a writer must not hang before fstat can refuse it.
  file->descriptor.value = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->descriptor.value < 0) return io_error("open", path, errno);
  return check_file(file->descriptor.value, path, &file->size);
}

constexpr char of_descriptor[] = "the descriptor's file";

// Of an open file.
struct Part {
  uint64_t offset = 0;
  size_t bytes = 0;
};

Status check_part(int descriptor, uint64_t offset, uint64_t bytes, Part* part) {
  size_t size = 0;
  LINFORMER_TRY(check_file(descriptor, of_descriptor, &size));
  if (bytes == 0 && offset < size) bytes = size - offset;
  if (bytes == 0 || !range_within(offset, bytes, size)) {
    return Status::error(Code::invalid_argument,
                         "the part of %llu bytes at %llu is not in the descriptor's file, which has %zu",
                         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset), size);
  }
  *part = {offset, static_cast<size_t>(bytes)};
  return {};
}

Status read_part(int descriptor, const char* name, const Part& part, std::byte* to) {
  for (size_t done = 0; done < part.bytes;) {
    const ssize_t count = ::pread(descriptor, to + done, part.bytes - done, static_cast<off_t>(part.offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("read", name, errno);
    if (count == 0) {
      return Status::error(Code::io_error, "%s ended after %zu of its %zu bytes: it was changed meanwhile", name, done,
                           part.bytes);
    }
    done += static_cast<size_t>(count);
  }
  return {};
}

}  // namespace

Result<FileBytes> FileBytes::allocate(uint64_t bytes) {
  if (bytes == 0) return Status::error(Code::corrupt_file, "the model has no bytes: copy or convert it again");
  void* pages = bytes > PTRDIFF_MAX ? MAP_FAILED
                                    : ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    return Status::error(Code::out_of_memory, "no memory for the %llu bytes of a model: map a file instead",
                         static_cast<unsigned long long>(bytes));
  }
  const std::span<std::byte> whole(static_cast<std::byte*>(pages), static_cast<size_t>(bytes));
  return FileBytes(whole, whole);
}

Result<FileBytes> FileBytes::map(const char* path) {
  OpenFile file;
  LINFORMER_TRY(open_file(path, &file));
  void* address = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor.value, 0);
  if (address == MAP_FAILED) return io_error("map", path, errno);
  const std::span<std::byte> whole(static_cast<std::byte*>(address), file.size);
  return FileBytes(whole, whole);
}

Result<FileBytes> FileBytes::read(const char* path) {
  OpenFile file;
  LINFORMER_TRY(open_file(path, &file));
  Result<FileBytes> copy = allocate(file.size);
  if (!copy.ok()) return copy;
  LINFORMER_TRY(read_part(file.descriptor.value, path, {0, file.size}, copy->pages_.data()));
  return copy;
}

Result<FileBytes> FileBytes::map(int descriptor, uint64_t offset, uint64_t bytes) {
  Part part;
  LINFORMER_TRY(check_part(descriptor, offset, bytes, &part));
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = static_cast<size_t>(part.offset % page);  // a mapping begins with a page
  void* address = ::mmap(nullptr, before + part.bytes, PROT_READ, MAP_PRIVATE, descriptor,
                         static_cast<off_t>(part.offset - before));
  if (address == MAP_FAILED) return io_error("map", of_descriptor, errno);
  const std::span<std::byte> pages(static_cast<std::byte*>(address), before + part.bytes);
  return FileBytes(pages, pages.subspan(before));
}

Result<FileBytes> FileBytes::read(int descriptor, uint64_t offset, uint64_t bytes) {
  Part part;
  LINFORMER_TRY(check_part(descriptor, offset, bytes, &part));
  Result<FileBytes> copy = allocate(part.bytes);
  if (!copy.ok()) return copy;
  LINFORMER_TRY(read_part(descriptor, of_descriptor, part, copy->pages_.data()));
  return copy;
}

Result<FileBytes> FileBytes::read_with(Read read, void* context, uint64_t bytes) {
  constexpr size_t at_once = size_t{1} << 20;
  Result<FileBytes> copy = allocate(bytes);
  if (!copy.ok()) return copy;
  const std::span<std::byte> to = copy->pages_;
  for (size_t done = 0; done < to.size();) {
    const size_t count = to.size() - done < at_once ? to.size() - done : at_once;
    if (!read(context, to.data() + done, done, count)) {
      return Status::error(Code::io_error, "the caller's function can't read the model's bytes from %zu on", done);
    }
    done += count;
  }
  return copy;
}

Result<FileBytes> FileBytes::copy(std::span<const std::byte> bytes) {
  Result<FileBytes> made = allocate(bytes.size());
  if (made.ok()) std::memcpy(made->pages_.data(), bytes.data(), bytes.size());
  return made;
}

FileBytes::~FileBytes() { free(); }

FileBytes::FileBytes(FileBytes&& other) noexcept
    : pages_(std::exchange(other.pages_, {})), bytes_(std::exchange(other.bytes_, {})) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  if (this != &other) {
    free();
    pages_ = std::exchange(other.pages_, {});
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void FileBytes::free() {
  if (!pages_.empty()) ::munmap(pages_.data(), pages_.size());
}

}  // namespace linformer
