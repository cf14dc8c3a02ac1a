// Which texts a command reads, and in which format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input/records.h"

namespace linformer::cli {

struct InputOptions {
  std::vector<std::string> texts;       // given on the command line; "-" = standard input where `dash`
  std::vector<std::string> pair_texts;  // the second text of each
  std::vector<std::string> inputs;      // files, "-" = standard input
  bool dash = false;
  std::string format = "auto";
  std::string field = "text", pair, id, delimiter;
  std::string usual_field = "text", pair_option = "--pair";  // the default of `field`, and the option that names `pair`
  uint64_t max_line_bytes = uint64_t{64} << 20;
  std::vector<std::string> keep;  // names of the user's own fields for the answers; "all": all of them
  uint64_t limit = 0;             // records at most; 0: all
  bool no_header = false, whole_files = false;
  bool words = false;        // the text of a record is an array of words
  std::string array_option;  // that asks for an array, which JSON alone has; empty: none does

  bool empty() const { return texts.empty() && inputs.empty(); }
  // Without texts and files, chooses a pipe or a redirected file, as `-` does.
  void take_pipe();
  // `more` and the files that are read; "-" = standard input.
  std::vector<std::string> paths(std::vector<std::string> more) const;
  Format format_of(const std::string& path) const;
  // Returns whether `path` is read as lines of text because neither --format nor its ending names a format.
  bool guessed_text(const std::string& path) const { return format == "auto" && format_of(path) == Format::text; }
  RecordLimits limits() const;
  bool keeps_all() const { return keep.size() == 1 && keep[0] == "all"; }
  // Throws UsageError where all fields of JSON lines are to become columns, since each record may have others.
  void check_kept_columns() const;
  // Returns whether records are named by their numbers.
  bool numbered() const { return id.empty() && !whole_files; }
  // Throws UsageError: `option` needs fields, and `path` is a file of text lines.
  [[noreturn]] static void fail_without_fields(const char* option, const std::string& path);
  // The fields to read. Throws UsageError where one is named although a format has none.
  RecordFields fields(const std::string& label) const;

 private:
  bool is_standard_input(const std::string& text) const { return dash && text == "-"; }
  // The first option that names a field or says how fields are divided; null: there is none.
  const char* field_option(const std::string& label) const;
  void check_pairs() const;
  void check_whole_files(const std::string& label) const;
  void check_fields(const char* option, const std::string& label) const;
  void check_arrays() const;
};

}  // namespace linformer::cli
