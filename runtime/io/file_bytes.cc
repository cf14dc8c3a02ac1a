#include "io/file_bytes.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/checked.h"

namespace LINFORMER_NAMESPACE {
namespace {

using platform::Failure;
using platform::File;
using platform::Pages;

Status io_error(const char* what, const char* path, Failure failure) {
  return Status::error(failure.out_of_memory() ? Code::out_of_memory : Code::io_error, "cannot %s %s: %s", what, path,
                       failure.text().words);
}

// An open regular file that isn't empty. The destructor closes it; pages that were mapped from it stay valid.
struct OpenFile {
  File file;
  bool is_open = false;
  size_t size = 0;
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (is_open) platform::close_file(file);
  }
};

Status check_file(File file, const char* name, size_t* size) {
  platform::FileFacts facts;
  if (const Failure failure = platform::facts_of(file, &facts)) return io_error("read the size of", name, failure);
  if (facts.kind != platform::FileKind::regular) {
    return Status::error(Code::io_error, "%s is not a regular file: give a .lnfr file", name);
  }
  if (facts.size == 0) return Status::error(Code::corrupt_file, "%s is empty: copy or convert it again", name);
  if (facts.size > SIZE_MAX) {
    return Status::error(Code::out_of_memory, "%s has more bytes than this machine can address", name);
  }
  *size = static_cast<size_t>(facts.size);
  return {};
}

Status open_file(const char* path, OpenFile* opened) {
  if (path == nullptr || path[0] == '\0') {
    return Status::error(Code::invalid_argument, "the path of the model file is empty: give the path of a .lnfr file");
  }
  if (const Failure failure = platform::open_file(path, &opened->file)) return io_error("open", path, failure);
  opened->is_open = true;
  return check_file(opened->file, path, &opened->size);
}

constexpr char of_descriptor[] = "the descriptor's file";

// A part of an open file, in bytes.
struct Part {
  uint64_t offset = 0;
  size_t bytes = 0;
};

Status check_part(File file, uint64_t offset, uint64_t bytes, Part* part) {
  size_t size = 0;
  LINFORMER_TRY(check_file(file, of_descriptor, &size));
  if (bytes == 0 && offset < size) bytes = size - offset;
  if (bytes == 0 || !range_within(offset, bytes, size)) {
    return Status::error(Code::invalid_argument,
                         "the part of %llu bytes at %llu is not in the descriptor's file, which has %zu bytes",
                         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset), size);
  }
  *part = {offset, static_cast<size_t>(bytes)};
  return {};
}

Status read_part(File file, const char* name, const Part& part, std::byte* to) {
  for (size_t done = 0; done < part.bytes;) {
    size_t count = 0;
    if (const Failure failure = platform::read_at(file, part.offset + done, to + done, part.bytes - done, &count)) {
      return io_error("read", name, failure);
    }
    if (count == 0) {
      return Status::error(Code::io_error, "%s ended after %zu of its %zu bytes: it was changed meanwhile", name, done,
                           part.bytes);
    }
    done += count;
  }
  return {};
}

}  // namespace

Result<FileBytes> FileBytes::allocate(uint64_t bytes) {
  if (bytes == 0) return Status::error(Code::corrupt_file, "the model has no bytes: copy or convert it again");
  const Pages pages = platform::reserve_pages(bytes);
  if (pages.data == nullptr) {
    return Status::error(Code::out_of_memory, "no memory for the %llu bytes of a model: map a file instead",
                         static_cast<unsigned long long>(bytes));
  }
  return FileBytes(pages);
}

Result<FileBytes> FileBytes::map(const char* path) {
  OpenFile opened;
  LINFORMER_TRY(open_file(path, &opened));
  Pages pages;
  if (const Failure failure = platform::map_file(opened.file, 0, opened.size, &pages)) {
    return io_error("map", path, failure);
  }
  return FileBytes(pages);
}

Result<FileBytes> FileBytes::read(const char* path) {
  OpenFile opened;
  LINFORMER_TRY(open_file(path, &opened));
  Result<FileBytes> copy = allocate(opened.size);
  if (!copy.ok()) return copy;
  LINFORMER_TRY(read_part(opened.file, path, {0, opened.size}, copy->pages_.data));
  return copy;
}

Result<FileBytes> FileBytes::map(int descriptor, uint64_t offset, uint64_t bytes) {
  const File file = platform::file_of_descriptor(descriptor);
  Part part;
  LINFORMER_TRY(check_part(file, offset, bytes, &part));
  const size_t before = static_cast<size_t>(part.offset % platform::mapping_granularity());
  Pages pages;
  if (const Failure failure = platform::map_file(file, part.offset - before, before + part.bytes, &pages)) {
    return io_error("map", of_descriptor, failure);
  }
  return FileBytes(pages, before);
}

Result<FileBytes> FileBytes::read(int descriptor, uint64_t offset, uint64_t bytes) {
  const File file = platform::file_of_descriptor(descriptor);
  Part part;
  LINFORMER_TRY(check_part(file, offset, bytes, &part));
  Result<FileBytes> copy = allocate(part.bytes);
  if (!copy.ok()) return copy;
  LINFORMER_TRY(read_part(file, of_descriptor, part, copy->pages_.data));
  return copy;
}

Result<FileBytes> FileBytes::read_with(Read read, void* context, uint64_t bytes) {
  constexpr size_t at_once = size_t{1} << 20;
  Result<FileBytes> copy = allocate(bytes);
  if (!copy.ok()) return copy;
  const std::span<std::byte> to(copy->pages_.data, copy->pages_.size);
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
  if (made.ok()) std::memcpy(made->pages_.data, bytes.data(), bytes.size());
  return made;
}

FileBytes::~FileBytes() { platform::release_pages(pages_); }

FileBytes::FileBytes(FileBytes&& other) noexcept
    : pages_(std::exchange(other.pages_, {})), bytes_(std::exchange(other.bytes_, {})) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  if (this != &other) {
    platform::release_pages(pages_);
    pages_ = std::exchange(other.pages_, {});
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

}  // namespace LINFORMER_NAMESPACE
