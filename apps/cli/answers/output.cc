#include "answers/output.h"

#include <cerrno>
#include <cstring>

#include "command_line/errors.h"
#include "files/atomic_file.h"
#include "files/file_calls.h"
#include "files/interrupted.h"
#include "files/output_target.h"
#include "files/same_file.h"
#include "system/descriptors.h"

namespace linformer::cli {
namespace {

constexpr size_t flush_bytes = 1 << 16;

void write_all(int fd, const char* bytes, size_t count, const std::string& name) {
  while (count > 0) {
    const std::ptrdiff_t written = files::write_some(fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw OutputClosed{};
    if (written < 0) throw DataError("cannot write " + name + ": " + std::strerror(errno));
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

}  // namespace

OutputStream::OutputStream(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

OutputStream::OutputStream(const std::string& path)
    : fd_(-1), name_(path), file_(std::make_unique<files::AtomicFile>(path)) {}

OutputStream::~OutputStream() = default;

void OutputStream::write(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= flush_bytes) flush();
}

void OutputStream::flush() {
  // The buffer is emptied before the write. If the write fails, a later flush during cleanup does not write the same
  // bytes again.
  std::string bytes;
  bytes.swap(buffer_);
  if (file_) {
    file_->append(std::string_view(bytes));
  } else {
    write_all(fd_, bytes.data(), bytes.size(), name_);
    files::mark_answers_written();
  }
  bytes.clear();
  buffer_.swap(bytes);
}

void OutputStream::commit() {
  flush();
  if (file_) file_->commit();
}

AnswerOutput::AnswerOutput(const std::string& path) {
  if (!path.empty() && !files::is_standard_output(path)) file_.emplace(path);
}

OutputStream& standard_output() {
  static OutputStream output(system::standard_output, "standard output");
  return output;
}

void check_outputs(const std::vector<std::string>& input_paths, const std::vector<NamedOutput>& outputs) {
  const auto name = [](const std::string& input) { return input == "-" ? "standard input" : input; };
  for (const NamedOutput& output : outputs) {
    if (const std::string* input = files::same_file(output.path, input_paths)) {
      throw UsageError(output.option + " " + output.path + " would replace " + name(*input) +
                       ", which this command reads; name another file");
    }
    for (const NamedOutput* other = outputs.data(); other != &output; ++other) {
      if (files::same_output(other->path, output.path)) {
        throw UsageError(other->option + " and " + output.option + " both name " + output.path + "; name two files");
      }
    }
    if (output.path.ends_with(".parquet")) {
      throw UsageError(output.option + " " + output.path +
                       ": Parquet is not written; name a FILE.csv or FILE.jsonl if the command writes that format, and "
                       "convert it: pandas.read_csv(FILE).to_parquet(OUT)");
    }
    if (!output.format) continue;
    if (const std::string sentence = files::wrong_ending_message(output.path, *output.format); !sentence.empty()) {
      throw UsageError(output.option + " " + sentence + (output.otherwise.empty() ? "" : ", or " + output.otherwise));
    }
  }
  if (const std::string* input = files::same_file("-", input_paths)) {
    throw UsageError("standard output goes to " + name(*input) + ", which this command reads; send it to another file");
  }
}

}  // namespace linformer::cli
