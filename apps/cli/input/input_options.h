// The texts that a command reads, and their format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input/records.h"

namespace linformer::cli {

struct InputOptions {
  std::vector<std::string> texts;       // The texts of the command line. If `dash`, "-" means standard input.
  std::vector<std::string> pair_texts;  // The second text of each of `texts`; may be empty.
  std::vector<std::string> inputs;      // Paths of files; "-" means standard input.
  bool dash = false;
  std::string format = "auto";
  std::string field = "text", pair, id, delimiter;
  // The default of `field`, and the option that sets `pair`.
  std::string usual_field = "text", pair_option = "--pair";
  uint64_t max_line_bytes = uint64_t{64} << 20;
  std::vector<std::string> keep;  // The names of the fields that answers repeat; "all" as the only name means all.
  uint64_t limit = 0;             // The greatest number of records; 0 for no limit.
  bool no_header = false, whole_files = false;
  bool words = false;        // True if the text of a record is an array of words.
  std::string array_option;  // The option that requires a JSON array in each record; empty if there is none.

  bool empty() const { return texts.empty() && inputs.empty(); }
  // If there are neither texts nor files, and standard input is a pipe or a file with bytes to read, makes it the
  // input.
  void use_piped_input();
  // Returns `other_paths` and the paths of all files that are read; "-" means standard input.
  std::vector<std::string> all_input_paths(std::vector<std::string> other_paths) const;
  Format format_of(const std::string& path) const;
  // Returns whether `path` is read as lines of text because neither --format nor its ending names a format.
  bool is_guessed_text(const std::string& path) const { return format == "auto" && format_of(path) == Format::text; }
  RecordLimits limits() const;
  bool keeps_all() const { return keep.size() == 1 && keep[0] == "all"; }
  // Throws UsageError if all fields of JSON lines are to become columns, because each record may have other fields.
  void check_kept_columns() const;
  // Returns whether the ids of records are their numbers.
  bool ids_are_numbers() const { return id.empty() && !whole_files; }
  // Throws the UsageError for an option that needs fields while `path` is read as text lines.
  [[noreturn]] static void fail_without_fields(const char* option, const std::string& path);
  // Returns the fields to read. `label` is the field with the true labels, the value of --eval; it may be empty. Throws
  // UsageError if an option names a field and the format of an input has no fields.
  RecordFields fields(const std::string& label) const;

 private:
  bool is_standard_input(const std::string& text) const { return dash && text == "-"; }
  // Returns an option that was given and that needs records with fields, such as --id. Returns null if no such option
  // was given.
  const char* given_field_option(const std::string& label) const;
  void check_pairs() const;
  void check_whole_files(const std::string& label) const;
  // Throws UsageError if an input has no fields, which `option` needs, or if --delimiter was given for JSON lines.
  void check_inputs_have_fields(const char* option, const std::string& label) const;
  void check_arrays() const;
};

}  // namespace linformer::cli
