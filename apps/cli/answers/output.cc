#include "answers/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "command_line/errors.h"
#include "files/same_file.h"

namespace linformer::cli {
namespace {

constexpr size_t flush_bytes = 1 << 16;

void write_all(int fd, const char* bytes, size_t count, const std::string& name) {
  while (count > 0) {
    const ssize_t written = ::write(fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw OutputClosed{};
    if (written < 0) throw DataError("cannot write " + name + ": " + std::strerror(errno));
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

}  // namespace

void OutputStream::write(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= flush_bytes) flush();
}

void OutputStream::flush() {
  // Emptied first: bytes that failed are not tried again by whoever cleans up.
  std::string bytes;
  bytes.swap(buffer_);
  write_all(fd_, bytes.data(), bytes.size(), name_);
  bytes.clear();
  buffer_.swap(bytes);
}

OutputStream& standard_output() {
  static OutputStream output(STDOUT_FILENO, "standard output");
  return output;
}

void check_outputs(const std::vector<std::string>& read, const std::vector<NamedOutput>& outputs) {
  const auto name = [](const std::string& input) { return input == "-" ? "standard input" : input; };
  for (const NamedOutput& output : outputs) {
    if (const std::string* input = files::same_file(output.path, read)) {
      throw UsageError(output.option + " " + output.path + " would replace " + name(*input) +
                       ", which this command reads; name another file");
    }
    for (const NamedOutput* other = outputs.data(); other != &output; ++other) {
      if (files::same_output(other->path, output.path)) {
        throw UsageError(other->option + " and " + output.option + " both name " + output.path + "; name two files");
      }
    }
    if (const std::string sentence = files::contradicted_ending(output.path, output.format); !sentence.empty()) {
      throw UsageError(output.option + " " + sentence + (output.otherwise.empty() ? "" : ", or " + output.otherwise));
    }
  }
  if (const std::string* input = files::same_file("-", read)) {
    throw UsageError("standard output goes to " + name(*input) + ", which this command reads; send it to another file");
  }
}

}  // namespace linformer::cli
