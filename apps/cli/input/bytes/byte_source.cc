#include "input/bytes/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "command_line/errors.h"
#include "input/bytes/file_kind.h"
#include "system/descriptors.h"

namespace linformer::cli {

ByteSource::ByteSource(const std::string& path)
    : name_(path == "-" ? "standard input" : path), buffer_(std::make_unique<char[]>(buffer_bytes)) {
  fd_ = path == "-" ? system::standard_input : system::open_for_reading(path);
  if (fd_ < 0) throw DataError(name_ + ": " + std::strerror(errno) + "; check the path");
  file_bytes_ = system::facts_of(fd_).size;
}

ByteSource::~ByteSource() {
  if (fd_ > system::standard_error) system::close_descriptor(fd_);
}

void ByteSource::expect_text(bool or_npy) { expect_ = or_npy ? Expect::text_or_npy : Expect::text; }

size_t ByteSource::read_file(char* destination, size_t count) {
  if (wait_hook_ && !system::has_bytes_now(fd_)) wait_hook_();
  const std::ptrdiff_t got = system::read_some(fd_, destination, count);
  if (got < 0) throw DataError(name_ + ": can't be read: " + std::strerror(errno));
  file_position_ += static_cast<size_t>(got);
  return static_cast<size_t>(got);
}

bool ByteSource::read_more() {
  char* free = buffer_.get() + end_;
  const size_t count = gunzip_ ? gunzip_->read(free, buffer_bytes - end_) : read_file(free, buffer_bytes - end_);
  end_ += count;
  content_end_ += count;
  return count > 0;
}

// Reads until the buffer has enough bytes to tell what they are. It stops at the first line end, because the writer of
// a pipe may wait for the answer to its first line.
void ByteSource::read_first_bytes() {
  constexpr size_t enough = 64;
  const auto known = [&] {
    return buffered().starts_with(gzip_magic) || buffered().find('\n') != std::string_view::npos;
  };
  while (end_ < enough && !known() && read_more()) {
  }
}

void ByteSource::open_gzip() {
  gunzip_ = std::make_unique<Gunzip>(name_, buffered(),
                                     [this](char* destination, size_t count) { return read_file(destination, count); });
  content_end_ = end_ = 0;
  read_first_bytes();
}

// Checks the first bytes of a text and skips a byte order mark. Returns false if nothing follows the mark.
bool ByteSource::check_start_of_text() {
  if (expect_ == Expect::text_or_npy && !buffered().empty() && buffered()[0] == npy_magic[0]) {
    expect_ = Expect::anything;
    return true;
  }
  // The names of a zip archive's entries tell its kind, so the whole buffer is filled.
  if (buffered().starts_with(zip_magic)) {
    while (end_ < buffer_bytes && read_more()) {
    }
  }
  if (const std::string kind = file_kind(buffered()); !kind.empty()) throw DataError(name_ + " is " + kind);
  throw_if_nul();
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (!buffered().starts_with(mark)) return true;
  position_ = mark.size();
  return position_ < end_ || fill();
}

void ByteSource::throw_if_nul() const {
  const uint64_t start = content_end_ - end_;
  if (start >= text_proof_bytes) return;
  const std::string_view proof = buffered().substr(0, static_cast<size_t>(text_proof_bytes - start));
  const size_t at = proof.find('\0');
  if (at != std::string_view::npos) throw DataError(name_ + " is " + binary_kind(proof, start + at));
}

bool ByteSource::fill() {
  const bool first = content_end_ == 0;
  position_ = end_ = 0;
  if (at_end_ || !read_more()) {
    at_end_ = true;
    return false;
  }
  if (first) {
    read_first_bytes();
    if (buffered().starts_with(gzip_magic)) open_gzip();
    if (end_ == 0) {
      at_end_ = true;
      return false;
    }
    if (expect_ != Expect::anything) return check_start_of_text();
  } else if (expect_ != Expect::anything) {
    throw_if_nul();
  }
  return true;
}

LineResult ByteSource::read_line(std::string* line, size_t max_bytes) {
  line->clear();
  bool any = false, too_long = false;
  while (position_ < end_ || fill()) {
    any = true;
    const char* start = buffer_.get() + position_;
    const size_t available = end_ - position_;
    const char* newline = static_cast<const char*>(std::memchr(start, '\n', available));
    const size_t count = newline ? static_cast<size_t>(newline - start) : available;
    too_long = too_long || count > max_bytes - line->size();
    if (!too_long) line->append(start, count);
    position_ += count + (newline ? 1 : 0);
    if (newline) break;
  }
  if (!any) return LineResult::end;
  return too_long ? LineResult::too_long : LineResult::line;
}

size_t ByteSource::read(char* destination, size_t count) {
  size_t done = 0;
  while (done < count && (position_ < end_ || fill())) {
    const size_t part = std::min(count - done, end_ - position_);
    std::memcpy(destination + done, buffer_.get() + position_, part);
    position_ += part;
    done += part;
  }
  return done;
}

}  // namespace linformer::cli
