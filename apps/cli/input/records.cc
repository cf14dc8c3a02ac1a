#include "input/records.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "command_line/errors.h"
#include "input/json_array.h"
#include "input/json_fields.h"
#include "input/json_members.h"
#include "input/record_errors.h"
#include "input/table_rows.h"
#include "input/text_records.h"

namespace linformer::cli {
namespace {

class JsonRecords : public RecordReader {
 public:
  JsonRecords(ByteSource* source, const RecordFields& fields, const RecordLimits& limits)
      : source_(source), fields_(fields), limits_(limits) {}

  bool next(Record* record) override {
    *record = {};
    if (!begun_) begin();
    std::string error;
    if (!(array_ ? array_->next(&line_, &error) : next_line(&error))) return false;
    if (error.empty()) error = read(record);
    record->line = array_ ? array_->line() : line_number_;
    if (error.empty()) return true;
    const std::string element = array_ ? ": element " + std::to_string(array_->element_number()) : "";
    record->error = line_location(*source_, record->line) + element + ": " + error;
    return true;
  }

 private:
  // Skips white space. The first other byte tells whether the input is an array or lines.
  void begin() {
    begun_ = true;
    for (int c; (c = source_->peek()) == ' ' || c == '\t' || c == '\r' || c == '\n'; source_->get()) {
      line_number_ += c == '\n' ? 1 : 0;
    }
    if (source_->peek() == '[') array_.emplace(source_, limits_.max_bytes, line_number_ + 1);
  }

  // Reads the next line that isn't blank. Returns false at the end of the input.
  bool next_line(std::string* error) {
    LineResult result;
    do {
      result = source_->read_line(&line_, limits_.max_bytes);
      if (result == LineResult::end) return false;
      ++line_number_;
    } while (result == LineResult::line &&
             std::all_of(line_.begin(), line_.end(), [](char c) { return c == ' ' || c == '\t' || c == '\r'; }));
    if (result == LineResult::too_long) *error = too_long_message(limits_);
    return true;
  }

  // Fills the record. Returns an error message, or an empty string.
  std::string read(Record* record) {
    std::vector<JsonField> wanted(1);
    wanted[0].name = fields_.text;
    const auto want = [&](const std::optional<std::string>& name) {
      if (!name) return size_t{0};
      // Two roles may use the same field.
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].name == *name) return i;
      }
      wanted.emplace_back().name = *name;
      return wanted.size() - 1;
    };
    const size_t pair = want(fields_.pair), id = want(fields_.id), label = want(fields_.label);
    if (fields_.label) {
      wanted[label].max_entries = fields_.max_labels;
      wanted[label].inner = fields_.label_member;
    }
    if (fields_.words) wanted[0].max_entries = max_words;
    if (fields_.spans) {
      wanted[label].max_entries = max_words;
      wanted[label].members = {"start", "end", "label"};
    }
    if (std::string error = read_json_fields(line_, &wanted); !error.empty()) return error;

    const auto string_of = [&](size_t index, std::string* value) -> std::string {
      const nlohmann::json& found = wanted[index].value;
      if (found.is_discarded()) return "no field '" + wanted[index].name + "'";
      if (!found.is_string()) return "field '" + wanted[index].name + "' is not a string";
      *value = found.get_ref<const std::string&>();
      return {};
    };
    // The id is read first, so that the answer to a bad record has it.
    if (fields_.id) {
      const nlohmann::json& found = wanted[id].value;
      if (found.is_discarded()) return "no field '" + wanted[id].name + "'";
      if (!found.is_string() && !found.is_number()) {
        return "field '" + wanted[id].name + "' is neither a string nor a number";
      }
      // The answer must repeat the id exactly, so a number that would be printed differently, such as 1.50, is kept as
      // text.
      record->id =
          found.is_number_float() && found.dump() != wanted[id].written ? nlohmann::json(wanted[id].written) : found;
    }
    if (fields_.words && wanted[0].value.is_array()) {
      if (std::string error = read_words(wanted[0].value, record); !error.empty()) return error;
    } else if (std::string error = string_of(0, &record->text); !error.empty()) {
      return error + (wanted[0].value.is_discarded() ? "; name the field with the text: --field NAME" : "");
    }
    if (fields_.pair && !(fields_.pair_optional && wanted[pair].value.is_discarded())) {
      record->pair.emplace();
      if (std::string error = string_of(pair, &*record->pair); !error.empty()) return error;
    }
    if (std::string error = keep(&record->own); !error.empty()) return error;
    if (!fields_.label) return {};
    const nlohmann::json& found = wanted[label].value;
    if (fields_.spans) return read_spans(found, &record->spans);
    if (found.is_array() && fields_.max_labels > 0) return read_labels(found, &record->labels.emplace());
    if (!found.is_null() && !found.is_structured()) {
      if (is_label_number(found)) {
        record->label = found.dump();
        return {};
      }
      return string_of(label, &record->label.emplace());
    }
    const char* kind = found.is_null() ? "null" : found.is_array() ? "a list" : "an object";
    const std::string wanted_kind = fields_.numbers ? "number" : "label";
    return "field '" + *fields_.label + "' is " + kind + "; give " +
           (fields_.max_labels > 0 ? "a list of " + wanted_kind + "s" : "a " + wanted_kind);
  }

  // Reads the fields that the record's answer repeats. Returns an error message, or an empty string.
  std::string keep(OwnFields* own) {
    if (fields_.keep_all) return read_all_members(line_, own);
    if (fields_.keep.empty()) return {};
    if (!kept_names_) kept_names_ = std::make_shared<const std::vector<std::string>>(fields_.keep);
    own->names = kept_names_;
    return read_members(line_, own);
  }

  static bool is_label_number(const nlohmann::json& value) { return value.is_number() || value.is_boolean(); }

  std::string read_labels(const nlohmann::json& entries, std::vector<std::string>* labels) const {
    const std::string field = "field '" + *fields_.label + "'";
    if (entries.size() > fields_.max_labels) {
      return field + " has more than " + std::to_string(fields_.max_labels) +
             " labels, the number of the head's labels";
    }
    for (const nlohmann::json& entry : entries) {
      if (entry.is_string()) {
        labels->push_back(entry.get_ref<const std::string&>());
      } else if (is_label_number(entry)) {
        labels->push_back(entry.dump());
      } else {
        return field + " has an entry that is neither a string nor a number";
      }
    }
    return {};
  }

  std::string read_words(const nlohmann::json& entries, Record* record) const {
    const std::string field = "field '" + fields_.text + "'";
    if (entries.size() > max_words) return field + " has more than " + std::to_string(max_words) + " words";
    for (const nlohmann::json& entry : entries) {
      if (!entry.is_string()) return field + " has an entry that is not a string";
      record->words.push_back(entry.get_ref<const std::string&>());
      if (record->words.size() > 1) record->text += ' ';
      record->text += record->words.back();
    }
    return {};
  }

  std::string read_spans(const nlohmann::json& entries, std::vector<LabelledSpan>* spans) const {
    const std::string field = "field '" + *fields_.label + "'";
    if (entries.is_discarded()) return "no " + field;
    if (!entries.is_array()) return field + R"( is not a list of {"start", "end", "label"})";
    if (entries.size() > max_words) return field + " has more than " + std::to_string(max_words) + " spans";
    const auto number_in = [](const nlohmann::json& entry, const char* name) {
      const auto found = entry.find(name);
      const bool good = found != entry.end() && found->is_number_integer() && *found >= 0 && *found <= INT64_MAX;
      return good ? found->get<int64_t>() : -1;
    };
    for (const nlohmann::json& entry : entries) {
      LabelledSpan span;
      if (entry.is_object()) {
        span.start = number_in(entry, "start");
        span.end = number_in(entry, "end");
      }
      if (!entry.is_object() || !entry.contains("label") || !entry["label"].is_string() || span.start < 0 ||
          span.end <= span.start) {
        return field + R"( has an entry that is not {"start": number, "end": greater number, "label": name})" +
               (entry.is_string() ? "; for the labels of words add --words" : "");
      }
      span.label = entry["label"].get_ref<const std::string&>();
      spans->push_back(std::move(span));
    }
    return {};
  }

  ByteSource* source_;
  RecordFields fields_;
  RecordLimits limits_;
  bool begun_ = false;
  std::optional<JsonArray> array_;
  std::shared_ptr<const std::vector<std::string>> kept_names_;
  std::string line_;
  uint64_t line_number_ = 0;
};

class TableRecords : public RecordReader {
 public:
  TableRecords(ByteSource* source, bool quoted, const RecordFields& fields, const RecordLimits& limits)
      : source_(source),
        rows_(source, quoted,
              limits.delimiter != '\0' ? limits.delimiter
              : quoted                 ? ','
                                       : '\t',
              limits.max_bytes),
        fields_(fields),
        limits_(limits) {}

  bool next(Record* record) override {
    *record = {};
    std::string error;
    if (!rows_.next(&row_, &error)) return false;
    if (columns_.empty()) {
      if (!error.empty()) throw DataError(line_location(*source_, rows_.line()) + ": the first row: " + error);
      read_header();
      if (limits_.header && !rows_.next(&row_, &error)) return false;
    }
    record->line = rows_.line();
    record->own.names = names_;
    if (error.empty()) error = read(record);
    if (!error.empty()) record->error = line_location(*source_, rows_.line()) + ": " + error;
    return true;
  }

 private:
  void read_header() {
    columns_ = row_;
    if (!limits_.header) {
      for (size_t i = 0; i < columns_.size(); ++i) columns_[i] = std::to_string(i + 1);
    }
    const auto column = [&](const std::string& name, bool optional) -> std::optional<size_t> {
      const auto found = std::find(columns_.begin(), columns_.end(), name);
      if (found == columns_.end()) {
        if (optional) return std::nullopt;
        std::string known;
        for (size_t i = 0; i < std::min<size_t>(columns_.size(), 8); ++i) known += (i ? ", " : "") + columns_[i];
        throw DataError(line_location(*source_, rows_.line()) + ": no field '" + name + "' (fields: " + known + "); " +
                        other_delimiter() + "name one with --field, " + fields_.pair_option +
                        ", --id, --eval or --keep");
      }
      if (std::find(found + 1, columns_.end(), name) != columns_.end()) {
        throw DataError(line_location(*source_, rows_.line()) + ": the first line names field '" + name + "' twice");
      }
      return found - columns_.begin();
    };
    text_ = *column(fields_.text, false);
    if (fields_.pair) pair_ = column(*fields_.pair, fields_.pair_optional);
    if (fields_.id) id_ = column(*fields_.id, false);
    if (fields_.label) label_ = column(*fields_.label, false);
    if (!fields_.keep_all && fields_.keep.empty()) return;
    for (const std::string& name : fields_.keep) kept_.push_back(*column(name, false));
    if (fields_.keep_all) keep_all();
    std::vector<std::string> names;
    for (const size_t kept : kept_) names.push_back(columns_[kept]);
    names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
  }

  void keep_all() {
    std::set<std::string_view> seen;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!seen.insert(columns_[i]).second) {
        throw DataError(line_location(*source_, rows_.line()) + ": the first line names field '" + columns_[i] +
                        "' twice, and --keep all needs a name for each");
      }
      kept_.push_back(i);
    }
  }

  // Returns advice if the header has only one column and that column's name contains another delimiter; otherwise an
  // empty string.
  std::string other_delimiter() const {
    if (columns_.size() != 1) return {};
    for (const char c : {'\t', ';', '|', ','}) {
      if (columns_[0].find(c) == std::string::npos) continue;
      return std::string("if '") + (c == '\t' ? "\\t" : std::string(1, c)) +
             "' stands between the fields, add --delimiter; otherwise ";
    }
    return {};
  }

  std::string read(Record* record) {
    if (row_.size() != columns_.size()) {
      return std::to_string(row_.size()) + (row_.size() == 1 ? " field in the row, " : " fields in the row, ") +
             "and the first row has " + std::to_string(columns_.size());
    }
    // The values are copied and not moved, because two roles may use the same column.
    if (id_) record->id = row_[*id_];
    if (pair_) record->pair = row_[*pair_];
    if (label_) record->label = row_[*label_];
    record->text = row_[text_];
    for (const size_t kept : kept_) record->own.values.push_back(row_[kept]);
    for (const std::string& field : row_) {
      if (const size_t nul = field.find('\0'); nul != std::string::npos) return nul_message(nul);
    }
    return {};
  }

  ByteSource* source_;
  TableRows rows_;
  RecordFields fields_;
  RecordLimits limits_;
  std::vector<std::string> columns_, row_;
  size_t text_ = 0;
  std::optional<size_t> pair_, id_, label_;
  std::vector<size_t> kept_;                               // The indices of the columns that answers repeat.
  std::shared_ptr<const std::vector<std::string>> names_;  // The names of these columns.
};

}  // namespace

Format format_of_path(const std::string& path) {
  std::string name = path;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const size_t dot = name.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (ending == "jsonl" || ending == "ndjson" || ending == "json") return Format::jsonl;
  if (ending == "csv") return Format::csv;
  if (ending == "tsv") return Format::tsv;
  return Format::text;
}

std::unique_ptr<RecordReader> open_records(ByteSource* source, Format format, const RecordFields& fields,
                                           const RecordLimits& limits) {
  source->expect_text();
  switch (format) {
    case Format::jsonl:
      return std::make_unique<JsonRecords>(source, fields, limits);
    case Format::csv:
    case Format::tsv:
      return std::make_unique<TableRecords>(source, format == Format::csv, fields, limits);
    case Format::fasttext:
      return open_fasttext_lines(source, fields, limits);
    case Format::whole_file:
      return open_whole_file(source, limits);
    default:
      return open_text_lines(source, limits);
  }
}

}  // namespace linformer::cli
