// Reads records from text lines, lines of fastText, JSON, CSV, TSV and whole files. A record is a text, and optionally
// a second text, an id and a label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "input/bytes/byte_source.h"
#include "models/own_fields.h"

namespace linformer::cli {

// An entity in a text: its label, and its begin and end in code points, or in words if spans_of_labels() made it.
struct LabelledSpan {
  int64_t start = 0, end = 0;
  std::string label;

  auto operator<=>(const LabelledSpan&) const = default;
};

// The greatest number of words, or of spans, in a record.
inline constexpr size_t max_words = size_t{1} << 20;

enum class Format { text, jsonl, csv, tsv, fasttext, whole_file };

// Returns the format that the ending of a path names. An ending .gz is ignored. Returns Format::text for an unknown
// ending.
Format format_of_path(const std::string& path);

struct RecordFields {
  std::string text = "text";
  std::optional<std::string> pair, id, label;  // The names of these fields. If empty, the field is not read.
  bool pair_optional = false;                  // If true, a record without the field `pair` is a single text.
  std::vector<std::string> keep;               // The names of the fields that answers repeat.
  bool keep_all = false;                       // Answers repeat all fields.
  size_t max_labels = 0;                       // The most labels in an array or a line of fastText; 0: exactly one.
  bool numbers = false;                        // Error messages say "number" instead of "label".
  bool words = false;                          // JSON: the text is an array of words.
  bool spans = false;                          // JSON: the label is an array of LabelledSpan.
  std::string label_member;                    // JSON: if the label is an object, this member of it is the label.
  std::string pair_option = "--pair";          // The option that sets `pair`, for messages.
};

struct RecordLimits {
  size_t max_bytes = size_t{64} << 20;  // The greatest size of a record. A longer record is bad.
  bool header = true;                   // csv, tsv: the first line names the fields; otherwise they are 1, 2, ...
  char delimiter = '\0';                // csv, tsv: the delimiter of fields; 0 for the comma (csv) or the tab (tsv).
};

struct Record {
  std::string text;
  std::optional<std::string> pair, label;
  std::optional<std::vector<std::string>> labels = {};  // Set instead of `label` for an array or, in fastText, a list.
  std::vector<std::string> words = {};                  // If not empty, `text` is these words with spaces between them.
  std::vector<LabelledSpan> spans = {};                 // Set instead of `label` if RecordFields::spans is set.
  OwnFields own;
  nlohmann::json id;  // A string or a number, or null if no id was read.
  std::string error;  // If not empty, the record is bad, and this says where and why.
  uint64_t line = 0;  // The line on which the record begins, from 1; 0 if it has none.
};

// JSON that is nested deeper is an error. No record needs it, and it would cost memory.
inline constexpr int max_json_depth = 64;

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // Reads the next record, good or bad. Returns false at the end. Throws DataError if no further record of this input
  // can be good, for example because the file can't be read or its header lacks a field.
  virtual bool next(Record* record) = 0;
};

// Returns a reader of records. `source` must outlive it. A missing newline at the end, CRLF and a byte order mark make
// no difference. In the formats text and fasttext every line is a record, also a blank line; jsonl, csv and tsv skip
// blank lines. JSON is one object in each line, or an array of objects. TSV has no quoting; CSV follows RFC 4180. A
// record with a NUL is bad.
std::unique_ptr<RecordReader> open_records(ByteSource* source, Format format, const RecordFields& fields,
                                           const RecordLimits& limits);

}  // namespace linformer::cli
