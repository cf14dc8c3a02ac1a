// Records (a text, perhaps a second text, an id, a label) out of text lines, JSON lines, CSV and TSV.
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

// A part of a text, in code points, that is an entity of this label.
struct LabelledSpan {
  int64_t start = 0, end = 0;
  std::string label;

  auto operator<=>(const LabelledSpan&) const = default;
};

// Words of a text, or spans in it, that a record has at most.
inline constexpr size_t max_words = size_t{1} << 20;

enum class Format { text, jsonl, csv, tsv, fasttext, whole_file };

// The format that a file's ending names, of "texts.csv.gz" too; text when it names none.
Format format_of_path(const std::string& path);

struct RecordFields {
  std::string text = "text";
  std::optional<std::string> pair, id, label;  // absent: not read
  bool pair_optional = false;                  // a record without `pair` is a single text
  std::vector<std::string> keep;               // the user's own fields, for the answers
  bool keep_all = false;                       // all that a record has
  size_t max_labels = 0;                       // JSON: entries that an array of labels has at most; 0: no arrays
  bool numbers = false;                        // labels are numbers, as messages call them
  bool words = false;                          // JSON: the text is an array of words
  bool spans = false;                          // JSON: the label is an array of LabelledSpan
  std::string label_member;                    // JSON: of a label that is an object, what stands for it
  std::string pair_option = "--pair";          // that names `pair`, for messages
};

struct RecordLimits {
  size_t max_bytes = size_t{64} << 20;  // of one record; longer ones become error records
  bool header = true;                   // csv, tsv: the first line names the fields; otherwise they are 1, 2, ...
  char delimiter = '\0';                // csv, tsv: what stands between fields; 0: the comma or the tab
};

struct Record {
  std::string text;
  std::optional<std::string> pair, label;
  std::optional<std::vector<std::string>> labels = {};  // instead of `label` where that is an array
  std::vector<std::string> words = {};                  // of which `text` is made, with spaces between
  std::vector<LabelledSpan> spans = {};                 // instead of `label`
  OwnFields own;
  nlohmann::json id;  // a string or a number; null when not read
  std::string error;  // not empty: the record is bad; says where and why
  uint64_t line = 0;  // of the input, where it begins; 0: it has none
};

// Deeper JSON than this is refused: no record needs it, and it would only eat memory.
inline constexpr int max_json_depth = 64;

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // The next record, good or bad; false at the end. Throws DataError when no record of this input can be good (an
  // unreadable file, a field that the header lacks).
  virtual bool next(Record* record) = 0;
};

// `source` must outlive the reader. A record's line is one of the input's lines, from 1; a missing newline at the end,
// CRLF and a byte order mark make no difference. text and fasttext: every line is a record, blank ones too. Other
// formats skip blank lines. JSON is an object a line, or one array of objects. TSV has no quoting; CSV is RFC 4180. A
// NUL makes a record bad.
std::unique_ptr<RecordReader> open_records(ByteSource* source, Format format, const RecordFields& fields,
                                           const RecordLimits& limits);

}  // namespace linformer::cli
