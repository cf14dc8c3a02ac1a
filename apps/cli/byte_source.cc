#include "byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "errors.h"

namespace linformer::cli {

ByteSource::ByteSource(const std::string& path)
    : name_(path == "-" ? "standard input" : path), buffer_(std::make_unique<char[]>(buffer_bytes)) {
  fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) throw DataError(name_ + ": " + std::strerror(errno) + "; check the path");
  struct stat properties {};
  if (::fstat(fd_, &properties) == 0 && S_ISREG(properties.st_mode)) {
    file_bytes_ = static_cast<uint64_t>(properties.st_size);
  }
}

ByteSource::~ByteSource() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

bool ByteSource::read_more() {
  if (wait_hook_) {
    pollfd readable{fd_, POLLIN, 0};
    if (::poll(&readable, 1, 0) == 0) wait_hook_();
  }
  ssize_t count;
  do {
    count = ::read(fd_, buffer_.get() + end_, buffer_bytes - end_);
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw DataError(name_ + ": can't be read: " + std::strerror(errno));
  end_ += static_cast<size_t>(count);
  total_ += static_cast<size_t>(count);
  return count > 0;
}

// Bytes that are surely no text would be answered all the same, and wrongly.
void ByteSource::refuse_other_encodings(std::string_view start) const {
  if (start.starts_with("\x1F\x8B"))
    throw DataError(name_ + " is gzip-compressed; pipe it in: zcat FILE | linformer ... -");
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
    throw DataError(name_ + " is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8");
  }
}

bool ByteSource::fill() {
  const bool first = total_ == 0;
  position_ = end_ = 0;
  if (at_end_ || !read_more()) {
    at_end_ = true;
    return false;
  }
  if (!first || !std::exchange(expects_text_, false)) return true;
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  // The mark may arrive byte by byte; anything else is not waited for.
  const auto buffered = [&] { return std::string_view(buffer_.get(), end_); };
  while (buffered().size() < mark.size() && mark.starts_with(buffered()) && read_more()) {
  }
  refuse_other_encodings(buffered());
  if (!buffered().starts_with(mark)) return true;
  position_ = mark.size();
  return position_ < end_ || fill();
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
