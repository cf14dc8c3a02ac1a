#include "converter/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace linformer::files {
namespace {

constexpr size_t buffer_size = size_t{1} << 20;
constexpr int name_attempts = 100;

// 0, or errno's value.
int synced(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// The beginning of a name, so that one of the longest length still has a temporary one; no character is cut.
std::string beginning(const std::string& name) {
  constexpr size_t longest = 64;
  if (name.size() <= longest) return name;
  size_t end = longest;
  while (end > longest - 4 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace

void AtomicFile::fail(const char* what, int error) const {
  throw WriteError(std::string("cannot ") + what + " " + path_ + ": " + std::generic_category().message(error), error);
}

AtomicFile::AtomicFile(const std::string& path)
    : path_(path == "-" ? "standard output" : path), target_(output_target(path)) {
  if (is_file()) {
    open_temporary();
    return;
  }
  descriptor_ = target_.kind == OutputTarget::Kind::descriptor
                    ? ::fcntl(target_.descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                    : ::open(target_.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor_ < 0) fail("write", errno);
}

// The permissions of the new file before the umask applies: none that the replaced file doesn't have.
mode_t AtomicFile::new_mode() const {
  constexpr mode_t any_file = 0666;
  struct stat replaced {};
  return ::stat(target_.path.c_str(), &replaced) == 0 ? replaced.st_mode & any_file : any_file;
}

void AtomicFile::open_temporary() {
  const std::filesystem::path target(target_.path);
  folder_ = target.parent_path().string();
  if (folder_.empty()) folder_.push_back('.');
  removal_ = std::make_unique<TemporaryName>();
  buffer_.reserve(buffer_size);
  const mode_t mode = new_mode();
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    std::string unique = beginning(target.filename().string());
    unique.append(".").append(std::to_string(::getpid())).append(".").append(std::to_string(attempt)).append(".tmp");
    temporary_ = folder_;
    temporary_.append("/.").append(unique);
    removal_->set(temporary_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ >= 0) break;
    const int error = errno;
    removal_->clear();
    if (error != EINTR && (error != EEXIST || attempt == name_attempts)) {
      temporary_.clear();
      if (error == ENOENT) throw WriteError("cannot write " + path_ + ": there is no folder " + folder_, error);
      fail("write", error);
    }
  }
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
    if (buffer_.size() == buffer_size || !is_file()) flush();
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

void AtomicFile::rewrite_start(std::string_view bytes) {
  flush();
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (written < 0 && errno != EINTR) fail("write", errno);
    if (written > 0) done += static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  flush();
  if (const int error = is_file() ? synced(descriptor_) : 0) fail("sync", error);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 && errno != EINTR) fail("close", errno);
  if (!is_file()) return;
  if (std::rename(temporary_.c_str(), target_.path.c_str()) != 0) fail("rename the finished file to", errno);
  temporary_.clear();
  removal_->clear();
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // a folder that may be written but not read: the rename stands, only its sync is lost
  const int error = synced(folder);
  ::close(folder);
  // Some file systems can't sync folders; the file itself is safe by now.
  if (error != 0 && error != EINVAL && error != ENOTSUP) fail("sync the folder of", error);
}

}  // namespace linformer::files
