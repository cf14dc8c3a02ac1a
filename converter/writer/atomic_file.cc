#include "converter/writer/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "converter/writer/write_error.h"

namespace linformer::writer {
namespace {

constexpr size_t buffer_size = size_t{1} << 20;
constexpr int name_attempts = 100;

}  // namespace

void AtomicFile::fail(const char* what, int error) const {
  throw WriteError(std::string("cannot ") + what + " " + path_ + ": " + std::generic_category().message(error));
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  const std::filesystem::path target(path_);
  const std::string name = target.filename().string();
  if (name.empty() || name == "." || name == "..") throw WriteError("cannot write " + path_ + ": give a file's path");
  // Replacing a device or a folder by a file is never what was meant.
  struct stat facts {};
  if (::lstat(path_.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode)) {
    throw WriteError("cannot write " + path_ + ": it exists and is not a regular file");
  }
  folder_ = target.parent_path().string();
  if (folder_.empty()) folder_.push_back('.');
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    // Short, so that a name of the longest length still has a temporary one.
    std::string unique = name.substr(0, 64);
    unique.append(".").append(std::to_string(::getpid())).append(".").append(std::to_string(attempt)).append(".tmp");
    temporary_ = folder_;
    temporary_.append("/.").append(unique);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EINTR && (errno != EEXIST || attempt == name_attempts)) {
      const int error = errno;
      temporary_.clear();
      fail("write", error);
    }
  }
  buffer_.reserve(buffer_size);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), buffer_size - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    bytes = bytes.subspan(count);
    if (buffer_.size() == buffer_size) flush();
  }
}

void AtomicFile::append_zeros(uint64_t count) {
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min<uint64_t>(count, buffer_size)));
  while (count != 0) {
    const size_t now = static_cast<size_t>(std::min<uint64_t>(count, zeros.size()));
    append(std::span(zeros).first(now));
    count -= now;
  }
}

void AtomicFile::flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno != EINTR) fail("write", errno);
    if (written > 0) done += static_cast<size_t>(written);
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) fail("sync", errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 && errno != EINTR) fail("close", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename the finished file to", errno);
  temporary_.clear();
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // a folder that may be written but not read: the rename stands, only its sync is lost
  // Some file systems can't sync folders; the file itself is safe by now.
  const bool failed = ::fsync(folder) != 0 && errno != EINVAL && errno != ENOTSUP;
  const int error = errno;
  ::close(folder);
  if (failed) fail("sync the folder of", error);
}

}  // namespace linformer::writer
