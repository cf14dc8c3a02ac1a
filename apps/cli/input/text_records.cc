#include "input/text_records.h"

#include <algorithm>

#include "command_line/errors.h"
#include "input/record_errors.h"

namespace linformer::cli {
namespace {

void strip_carriage_return(std::string* line) {
  if (!line->empty() && line->back() == '\r') line->pop_back();
}

class TextRecords : public RecordReader {
 public:
  TextRecords(ByteSource* source, const RecordLimits& limits) : source_(source), limits_(limits) {}

  bool next(Record* record) override {
    *record = {};
    const LineResult result = source_->read_line(&record->text, limits_.max_bytes);
    if (result == LineResult::end) return false;
    ++line_;
    if (result == LineResult::too_long) {
      record->text.clear();
      record->error = line_location(*source_, line_) + ": " + too_long_message(limits_);
    }
    strip_carriage_return(&record->text);
    record->line = line_;
    if (const size_t nul = record->text.find('\0'); nul != std::string::npos) {
      record->error = line_location(*source_, line_) + ": " + nul_message(nul);
    }
    return true;
  }

 private:
  ByteSource* source_;
  RecordLimits limits_;
  uint64_t line_ = 0;
};

class FastTextRecords : public RecordReader {
 public:
  FastTextRecords(ByteSource* source, const RecordFields& fields, const RecordLimits& limits)
      : lines_(source, limits), source_(*source), fields_(fields) {}

  bool next(Record* record) override {
    if (!lines_.next(record)) return false;
    if (!record->error.empty()) return true;
    if (const std::string error = take_labels(record); !error.empty()) {
      record->error = line_location(source_, record->line) + ": " + error;
    }
    return true;
  }

 private:
  // Moves the labels out of the text. Returns an error message, or an empty string.
  std::string take_labels(Record* record) const {
    constexpr std::string_view space = " \t";
    const std::string_view line = record->text;
    // If max_labels is 0, the head gives one label, and a record must have exactly one.
    const size_t most = std::max<size_t>(fields_.max_labels, 1);
    std::vector<std::string> labels;
    size_t count = 0, at = std::min(line.find_first_not_of(space), line.size());
    while (line.substr(at).starts_with(label_prefix)) {
      const size_t begin = at + label_prefix.size(), end = std::min(line.find_first_of(space, begin), line.size());
      if (begin == end) return "a " + std::string(label_prefix) + " without a name; remove it";
      if (++count <= most && fields_.label) labels.emplace_back(line.substr(begin, end - begin));
      at = std::min(line.find_first_not_of(space, end), line.size());
    }
    record->text.erase(0, at);
    if (!fields_.label) return {};
    if (count > most) {
      return std::to_string(count) + " labels, and " + std::to_string(most) + (most == 1 ? " is" : " are") +
             " the most that this head can give";
    }
    if (fields_.max_labels > 0) {
      record->labels = std::move(labels);
    } else if (count == 1) {
      record->label = std::move(labels[0]);
    } else {
      return "the line begins with no " + std::string(label_prefix) + "; begin each line with its label";
    }
    return {};
  }

  TextRecords lines_;
  const ByteSource& source_;
  RecordFields fields_;
};

class WholeFile : public RecordReader {
 public:
  WholeFile(ByteSource* source, const RecordLimits& limits) : source_(source), limits_(limits) {}

  bool next(Record* record) override {
    *record = {};
    if (done_) return false;
    done_ = true;
    record->id = source_->name();
    try {
      read(record);
    } catch (const DataError& error) {
      record->error = error.what();
    }
    if (!record->error.empty()) record->text.clear();
    return true;
  }

 private:
  void read(Record* record) {
    constexpr size_t piece = 1 << 16;
    std::string& text = record->text;
    for (size_t got = piece; got == piece && text.size() <= limits_.max_bytes;) {
      const size_t before = text.size();
      text.resize(before + piece);
      got = source_->read(text.data() + before, piece);
      text.resize(before + got);
    }
    if (text.size() > limits_.max_bytes) {
      record->error = source_->name() + ": " + too_long_message(limits_);
    } else if (const size_t nul = text.find('\0'); nul != std::string::npos) {
      record->error = source_->name() + ": " + nul_message(nul);
    }
    if (!text.empty() && text.back() == '\n') text.pop_back();
    strip_carriage_return(&text);
  }

  ByteSource* source_;
  RecordLimits limits_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<RecordReader> open_text_lines(ByteSource* source, const RecordLimits& limits) {
  return std::make_unique<TextRecords>(source, limits);
}

std::unique_ptr<RecordReader> open_fasttext_lines(ByteSource* source, const RecordFields& fields,
                                                  const RecordLimits& limits) {
  return std::make_unique<FastTextRecords>(source, fields, limits);
}

std::unique_ptr<RecordReader> open_whole_file(ByteSource* source, const RecordLimits& limits) {
  return std::make_unique<WholeFile>(source, limits);
}

}  // namespace linformer::cli
