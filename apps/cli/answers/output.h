// Output streams for answers, and the check of the files that a command is told to write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/endings.h"

namespace linformer::files {
class AtomicFile;
}

namespace linformer::cli {

// `lines` means columns with tabs between them and no header. Most commands write it by default, unless they write to a
// terminal.
enum class OutputFormat : uint8_t { lines, jsonl, csv, tsv, table, npy };

// A buffered output to a file descriptor or a file. For a descriptor, it throws OutputClosed if the reader closed it,
// and DataError on any other failure. For a file, it throws files::WriteError.
class OutputStream {
 public:
  OutputStream(int fd, std::string name);
  // Writes to a temporary file, which commit() renames to `path`. So no incomplete file is ever called `path`
  // (files/atomic_file.h).
  explicit OutputStream(const std::string& path);
  ~OutputStream();
  void write(std::string_view bytes);
  // Writes the buffered bytes. For a descriptor, it then calls files::mark_answers_written(), so that an interruption
  // reports all answers that were counted before.
  void flush();
  // Flushes. If the output is a file, renames the temporary file to the final name.
  void commit();
  // Returns the descriptor, or -1 if the output is a file.
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string name_;
  std::string buffer_;
  std::unique_ptr<files::AtomicFile> file_;
};

OutputStream& standard_output();

// The output that the option -o names: a file, or standard output if the path is "" or "-".
class AnswerOutput {
 public:
  explicit AnswerOutput(const std::string& path);
  OutputStream* stream() { return file_ ? &*file_ : &standard_output(); }
  bool is_file() const { return file_.has_value(); }
  // Writes the buffered bytes. If the output is a file, renames the temporary file to the final name.
  void commit() { stream()->commit(); }

 private:
  std::optional<OutputStream> file_;
};

// An option that names an output, its value ("" if the option was not given), and the format of that output.
struct NamedOutput {
  std::string option, path;
  std::optional<files::FileFormat> format;  // If empty, the path may have any ending but .parquet.
  std::string otherwise = {};               // Advice on how to get another format. May be empty.
};

// Throws UsageError if one of `outputs`, or standard output, is a file that the command reads; if two of `outputs` are
// the same file, since one output would be lost; or if the ending of an output's path stands for another format, or for
// Parquet, which no command writes.
void check_outputs(const std::vector<std::string>& input_paths, const std::vector<NamedOutput>& outputs);

}  // namespace linformer::cli
