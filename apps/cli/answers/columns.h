// Writes answers as CSV or TSV with a header, or as JSON lines. Each row has the fields of the input that --keep names,
// and then the fields of the answer. If both have a field called NAME, the field of the answer is called
// linformer_NAME.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "answers/output.h"
#include "models/own_fields.h"

namespace linformer::cli {

// Returns `value` as a cell of CSV, in quotes if RFC 4180 requires them.
std::string csv_cell(std::string_view value);
// Returns `value` as a cell of TSV. TSV has no quotes, so tabs and line ends become spaces.
std::string tsv_cell(std::string_view value);

// Returns the width of a table's column of ids, in characters, on a terminal that has `terminal_columns` columns. If
// `numbered` is true, ids are the records' numbers and need little space; otherwise the column gets a quarter of the
// terminal's width, within limits.
int id_column_width(bool numbered, int terminal_columns);

class ColumnWriter {
 public:
  // `columns` are the names of the answer's columns. `output` must outlive the writer. Control characters are replaced
  // by spaces in the answer's cells, and on a terminal also in the cells of the user's own fields.
  ColumnWriter(bool csv, std::vector<std::string> columns, OutputStream* output);
  // Writes a row, and before the first row the header. Throws DataError if the names in `own` differ from those of the
  // first row.
  void write(const OwnFields& own, const std::vector<std::string>& cells);
  // Writes the header if no row was written.
  void finish();

 private:
  void write_header(const OwnFields& own);
  void write_cells(const std::vector<std::string>& own, const std::vector<std::string>& cells);

  bool csv_, safe_;  // If the output is a terminal, safe_ is set and the user's own cells are made safe to print.
  bool header_written_ = false;
  std::vector<std::string> columns_;
  std::shared_ptr<const std::vector<std::string>> names_;  // The names of the first record's own fields.
  OutputStream* output_;
};

// Returns a JSON object in one line: the fields of `own`, which the answer repeats from the record, and then the fields
// of `answer`. If both have a field of the same name, the field of `answer` gets the prefix linformer_.
std::string json_line(const OwnFields& own, const nlohmann::ordered_json& answer);

}  // namespace linformer::cli
