// Answers as rows of CSV or TSV under a header, and as JSON lines: the fields that the user keeps, and then the fields
// of the answer. If a kept field has the name of a field of the answer, the latter is called linformer_NAME.
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

// A cell of CSV, in quotes where RFC 4180 asks for them.
std::string csv_cell(std::string_view value);
// A cell of TSV, which has no quotes: tabs and line ends become spaces.
std::string tsv_cell(std::string_view value);

// Returns how many of a terminal's `width` columns a table gives to ids: few if ids are numbers, otherwise a quarter of
// them within limits.
int id_columns(bool numbered, int width);

class ColumnWriter {
 public:
  // `columns` are the names of the answer's columns. `output` must outlive the writer. Control characters are removed
  // from the answer's cells, and on a terminal from the user's own cells too.
  ColumnWriter(bool csv, std::vector<std::string> columns, OutputStream* output);
  // Writes a row, and before the first one the header. Throws DataError where the record's own fields aren't those of
  // the first record.
  void write(const OwnFields& own, const std::vector<std::string>& cells);
  // Writes the header where there was no row.
  void finish();

 private:
  void write_header(const OwnFields& own);
  void write_cells(const std::vector<std::string>& own, const std::vector<std::string>& cells);

  bool csv_, safe_;  // safe_: it goes to a terminal
  bool header_written_ = false;
  std::vector<std::string> columns_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of the first record's own fields
  OutputStream* output_;
};

// One line of JSON.
std::string json_line(const OwnFields& own, const nlohmann::ordered_json& ours);

}  // namespace linformer::cli
