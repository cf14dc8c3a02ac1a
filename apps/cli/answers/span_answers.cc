#include "answers/span_answers.h"

#include <algorithm>

#include "answers/columns.h"
#include "command_line/display.h"

namespace linformer::cli {
namespace {

using Spans = std::span<const linformer::Answer>;

// Returns the text of an answer as tables show it.
std::string shown(const linformer::Answer& answer) {
  return answer.no_answer ? "(no answer)" : std::string(answer.text);
}

class JsonSpans : public SpanWriter {
 public:
  explicit JsonSpans(OutputStream* output) : output_(output) {}

  void write(const Job& job, Spans answers) override {
    nlohmann::ordered_json line = {{"id", job.id}};
    if (!job.error.empty()) {
      line["error"] = job.error;
    } else {
      auto& list = line["answers"] = nlohmann::ordered_json::array();
      for (const linformer::Answer& answer : answers) {
        list.push_back({{"text", std::string(answer.text)},
                        {"score", double_of_shortest_text(answer.score)},
                        {"start", answer.offset.begin},
                        {"end", answer.offset.end}});
      }
      line["tokens"] = job.tokens;
      line["truncated"] = job.truncated();
      if (job.truncated()) line["total_tokens"] = job.total_tokens;
      if (job.windows > 1) line["windows"] = job.windows;
    }
    output_->write(json_line(job.own, line));
  }

 private:
  OutputStream* output_;
};

// Writes a line for each answer, with the columns id, rank, text, score, start, end and note.
class TsvSpans : public SpanWriter {
 public:
  explicit TsvSpans(OutputStream* output) : output_(output) {}

  void write(const Job& job, Spans answers) override {
    const std::string id = excerpt(job.id_text(), uncut);
    if (!job.error.empty()) return output_->write(id + "\t-\tERROR\t\t\t\t" + excerpt(job.error, uncut) + "\n");
    std::string note;
    if (job.truncated()) {
      note = "cut to " + std::to_string(job.tokens) + " of " + std::to_string(job.total_tokens) + " tokens";
    } else if (job.windows > 1) {
      note = std::to_string(job.tokens) + " tokens in " + std::to_string(job.windows) + " windows";
    }
    if (answers.empty()) output_->write(id + "\t-\t\t-\t-\t-\t" + note + "\n");
    size_t rank = 0;
    for (const linformer::Answer& answer : answers) {
      output_->write(id + "\t" + std::to_string(++rank) + "\t" + excerpt(answer.text, uncut) + "\t" +
                     fixed(answer.score, 6) + "\t" + std::to_string(answer.offset.begin) + "\t" +
                     std::to_string(answer.offset.end) + "\t" + note + "\n");
    }
  }

 private:
  OutputStream* output_;
};

class ColumnSpans : public SpanWriter {
 public:
  ColumnSpans(bool csv, OutputStream* output)
      : writer_(csv, {"id", "rank", "text", "score", "start", "end", "error"}, output) {}

  void write(const Job& job, Spans answers) override {
    const std::string id = job.id_text();
    if (!job.error.empty() || answers.empty()) return writer_.write(job.own, {id, "", "", "", "", "", job.error});
    size_t rank = 0;
    for (const linformer::Answer& answer : answers) {
      writer_.write(job.own, {id, std::to_string(++rank), std::string(answer.text), fixed(answer.score, 6),
                              std::to_string(answer.offset.begin), std::to_string(answer.offset.end), ""});
    }
  }
  void finish() override { writer_.finish(); }

 private:
  ColumnWriter writer_;
};

class TableSpans : public SpanWriter {
 public:
  TableSpans(bool numbered, int width, OutputStream* output)
      : id_width_(id_column_width(numbered, width)), width_(width), output_(output) {}

  void write(const Job& job, Spans answers) override {
    if (!header_written_) write_row("id", "score", "start", "end", "answer");
    header_written_ = true;
    std::string id = excerpt_of_end(job.id_text(), id_width_);
    if (!job.error.empty()) return write_row(id, "ERROR", "", "", job.error);
    if (answers.empty()) return write_row(id, "-", "-", "-", "-");
    for (const linformer::Answer& answer : answers) {
      write_row(id, fixed(answer.score, 4), std::to_string(answer.offset.begin), std::to_string(answer.offset.end),
                shown(answer));
      id.clear();
    }
  }

 private:
  void write_row(const std::string& id, const std::string& score, const std::string& start, const std::string& end,
                 const std::string& text) {
    constexpr int score_width = 6, place_width = 7;
    std::string line = padded(id, id_width_) + "  " + padded(score, score_width, true) + "  " +
                       padded(start, place_width, true) + "  " + padded(end, place_width, true) + "  ";
    line += excerpt(text, std::max(20, width_ - display_width(line)));
    line.erase(line.find_last_not_of(' ') + 1);
    output_->write(line + "\n");
  }

  int id_width_, width_;
  OutputStream* output_;
  bool header_written_ = false;
};

}  // namespace

std::unique_ptr<SpanWriter> make_span_writer(OutputFormat format, bool numbered, int width, OutputStream* output) {
  switch (format) {
    case OutputFormat::jsonl:
      return std::make_unique<JsonSpans>(output);
    case OutputFormat::table:
      return std::make_unique<TableSpans>(numbered, width, output);
    case OutputFormat::csv:
    case OutputFormat::tsv:
      return std::make_unique<ColumnSpans>(format == OutputFormat::csv, output);
    default:
      return std::make_unique<TsvSpans>(output);
  }
}

}  // namespace linformer::cli
