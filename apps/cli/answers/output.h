// Where answers go, and what no output may be.
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

// `lines` means columns with tabs between them and no header; it is the default if standard output is a pipe.
enum class OutputFormat : uint8_t { lines, jsonl, csv, tsv, table, npy };

// Buffered bytes to a descriptor. Throws OutputClosed when its reader went away and DataError on any other failure.
class OutputStream {
 public:
  OutputStream(int fd, std::string name);
  // A file that appears under its name at commit(), complete or not at all (files/atomic_file.h).
  explicit OutputStream(const std::string& path);
  ~OutputStream();
  void write(std::string_view bytes);
  // Writes what is buffered. Of standard output: the answers that were counted until now count as written.
  void flush();
  // Flushes, and makes the file appear.
  void commit();
  int fd() const { return fd_; }  // -1: a file

 private:
  int fd_;
  std::string name_;
  std::string buffer_;
  std::unique_ptr<files::AtomicFile> file_;
};

OutputStream& standard_output();

// What -o names: a file, or standard output where it is "" or "-".
class AnswerOutput {
 public:
  explicit AnswerOutput(const std::string& path);
  OutputStream* stream() { return file_ ? &*file_ : &standard_output(); }
  bool is_file() const { return file_.has_value(); }
  // Writes what is buffered, and makes the file appear.
  void commit() { stream()->commit(); }

 private:
  std::optional<OutputStream> file_;
};

// An option that names an output, its value ("" where it was not given), and what is written there.
struct NamedOutput {
  std::string option, path;
  std::optional<files::FileFormat> format;  // none: the ending may be any
  std::string otherwise = {};               // advice on how to get another format; empty: there is none
};

// Throws UsageError where one of `outputs`, or standard output, is a file that the command reads, where two of
// `outputs` are one file, since one would be lost, and where an output's ending stands for another format, or for
// Parquet, which no command writes.
void check_outputs(const std::vector<std::string>& read, const std::vector<NamedOutput>& outputs);

}  // namespace linformer::cli
