#include "converter/files/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "converter/files/file_calls.h"

namespace linformer::files {
namespace {

constexpr size_t buffer_size = size_t{1} << 20;
constexpr int name_attempts = 100;

// Returns the beginning of a file name, so that the temporary name made from it isn't longer than file systems allow.
// No UTF-8 character is cut in two.
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
  descriptor_ = target_.kind == OutputTarget::Kind::descriptor ? duplicate(target_.descriptor)
                                                               : open_device_or_fifo(target_.path);
  if (descriptor_ < 0) fail("write", errno);
}

void AtomicFile::open_temporary() {
  const std::filesystem::path target(target_.path);
  folder_ = target.parent_path().string();
  if (folder_.empty()) folder_.push_back('.');
  removal_ = std::make_unique<TemporaryName>();
  buffer_.reserve(buffer_size);
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    std::string unique = beginning(target.filename().string());
    unique.append(".").append(std::to_string(process_id())).append(".").append(std::to_string(attempt)).append(".tmp");
    temporary_ = folder_;
    temporary_.append("/.").append(unique);
    removal_->set(temporary_);
    descriptor_ = create_file(temporary_, target_.path);
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
  if (descriptor_ >= 0) close_quietly(descriptor_);
  if (!temporary_.empty()) remove_file(temporary_.c_str());
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
    const std::ptrdiff_t written = write_some(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno != EINTR) fail("write", errno);
    if (written > 0) done += static_cast<size_t>(written);
  }
  buffer_.clear();
}

void AtomicFile::rewrite_start(std::string_view bytes) {
  flush();
  for (size_t done = 0; done < bytes.size();) {
    const std::ptrdiff_t written = write_some_at(descriptor_, bytes.data() + done, bytes.size() - done, done);
    if (written < 0 && errno != EINTR) fail("write", errno);
    if (written > 0) done += static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  flush();
  if (const int error = is_file() ? sync_file(descriptor_) : 0) fail("sync", error);
  if (!close_checked(std::exchange(descriptor_, -1))) fail("close", errno);
  if (!is_file()) return;
  if (!rename_over(temporary_, target_.path)) fail("rename the finished file to", errno);
  temporary_.clear();
  removal_->clear();
  // The target is complete even if this sync fails.
  if (const int error = sync_folder(folder_)) fail("sync the folder of", error);
}

}  // namespace linformer::files
