#include "answers/entities.h"

#include <algorithm>
#include <iterator>

#include "answers/columns.h"
#include "command_line/display.h"

namespace linformer::cli {
namespace {

std::string note_of(const Job& job) {
  if (job.truncated()) {
    return "cut to " + std::to_string(job.tokens) + " of " + std::to_string(job.total_tokens) + " tokens";
  }
  return job.windows > 1 ? std::to_string(job.tokens) + " tokens in " + std::to_string(job.windows) + " windows" : "";
}

class JsonEntities : public EntityWriter {
 public:
  explicit JsonEntities(OutputStream* output) : output_(output) {}

  void write(const Job& job, std::string_view, std::span<const Entity> entities) override {
    nlohmann::ordered_json line = {{"id", job.id}};
    if (!job.error.empty()) {
      line["error"] = job.error;
      return output_->write(json_line(job.own, line));
    }
    line["entities"] = nlohmann::ordered_json::array();
    line["tokens"] = job.tokens;
    line["truncated"] = job.truncated();
    if (job.truncated()) line["total_tokens"] = job.total_tokens;
    if (job.windows > 1) line["windows"] = job.windows;
    // JSON values of all entities of a long text would take too much memory, so each entity is written on its own,
    // between the brackets of an empty list. That list is the last "[]" of the line, since only numbers and booleans
    // follow it.
    const std::string empty = json_line(job.own, line);
    const size_t inside = empty.rfind("[]") + 1;
    output_->write(std::string_view(empty).substr(0, inside));
    const char* before = "";
    for (const Entity& entity : entities) {
      output_->write(before);
      output_->write(json_text(nlohmann::ordered_json{{"label", std::string(entity.label)},
                                                      {"score", double_of_shortest_text(entity.score)},
                                                      {"start", entity.offset.begin},
                                                      {"end", entity.offset.end},
                                                      {"text", std::string(entity.text)}}));
      before = ",";
    }
    output_->write(std::string_view(empty).substr(inside));
  }

 private:
  OutputStream* output_;
};

// Writes a line for each entity, with the columns id, label, score, start, end, text and note.
class TsvEntities : public EntityWriter {
 public:
  explicit TsvEntities(OutputStream* output) : output_(output) {}

  void write(const Job& job, std::string_view, std::span<const Entity> entities) override {
    const std::string id = excerpt(job.id_text(), uncut);
    if (!job.error.empty()) return output_->write(id + "\tERROR\t\t\t\t\t" + excerpt(job.error, uncut) + "\n");
    const std::string note = note_of(job);
    if (entities.empty()) output_->write(id + "\t-\t-\t-\t-\t\t" + note + "\n");
    for (const Entity& entity : entities) {
      output_->write(id + "\t" + excerpt(entity.label, uncut) + "\t" + fixed(entity.score, 6) + "\t" +
                     std::to_string(entity.offset.begin) + "\t" + std::to_string(entity.offset.end) + "\t" +
                     excerpt(entity.text, uncut) + "\t" + note + "\n");
    }
  }

 private:
  OutputStream* output_;
};

class ColumnEntities : public EntityWriter {
 public:
  ColumnEntities(bool csv, OutputStream* output)
      : writer_(csv, {"id", "label", "score", "start", "end", "text", "tokens", "total_tokens", "error"}, output) {}

  void write(const Job& job, std::string_view, std::span<const Entity> entities) override {
    const std::string id = job.id_text();
    if (!job.error.empty()) return writer_.write(job.own, {id, "", "", "", "", "", "", "", job.error});
    const std::string tokens = std::to_string(job.tokens), total = std::to_string(job.total_tokens);
    if (entities.empty()) writer_.write(job.own, {id, "", "", "", "", "", tokens, total, ""});
    for (const Entity& entity : entities) {
      writer_.write(job.own,
                    {id, std::string(entity.label), fixed(entity.score, 6), std::to_string(entity.offset.begin),
                     std::to_string(entity.offset.end), std::string(entity.text), tokens, total, ""});
    }
  }
  void finish() override { writer_.finish(); }

 private:
  ColumnWriter writer_;
};

// Writes the text itself, with each entity and its label and score in brackets, or in colour if the output is a
// terminal that shows colours.
class MarkedEntities : public EntityWriter {
 public:
  MarkedEntities(std::vector<std::string> labels, bool numbered, int width, OutputStream* output)
      : labels_(std::move(labels)),
        id_width_(id_column_width(numbered, width)),
        colors_(shows_colors(output->fd())),
        output_(output) {}

  void write(const Job& job, std::string_view text, std::span<const Entity> entities) override {
    const std::string id = padded(excerpt_of_end(job.id_text(), id_width_), id_width_) + "  ";
    if (!job.error.empty()) return output_->write(id + "ERROR  " + excerpt(job.error, uncut) + "\n");
    output_->write(id);
    // A token may begin inside the character in which the token before it ends. Two entities then share that character,
    // and it is written only once.
    size_t done = 0;
    for (const Entity& entity : entities) {
      const auto begin = static_cast<size_t>(entity.text.data() - text.data());
      const size_t from = std::max(begin, done), end = begin + entity.text.size();
      if (end <= from) continue;
      output_->write(printable_text(text.substr(done, from - done)));
      output_->write(marked(printable_text(text.substr(from, end - from)), entity));
      done = end;
    }
    const std::string note = note_of(job);
    output_->write(printable_text(text.substr(done)) + (note.empty() ? "" : "  (" + note + ")") + "\n");
  }

 private:
  std::string marked(const std::string& text, const Entity& entity) const {
    const std::string label = excerpt(entity.label, label_columns) + " " + fixed(entity.score, 2);
    if (!colors_) return "[" + text + " " + label + "]";
    static constexpr const char* colors[] = {"36", "33", "35", "32", "34", "31"};
    const auto found = std::find(labels_.begin(), labels_.end(), entity.label);
    const std::string color = colors[static_cast<size_t>(found - labels_.begin()) % std::size(colors)];
    return "\033[1;" + color + "m" + text + "\033[0m \033[" + color + "m" + label + "\033[0m";
  }

  static constexpr int label_columns = 32;
  std::vector<std::string> labels_;
  int id_width_;
  bool colors_;
  OutputStream* output_;
};

}  // namespace

std::unique_ptr<EntityWriter> make_entity_writer(OutputFormat format, const std::vector<std::string>& labels,
                                                 bool numbered, int width, OutputStream* output) {
  switch (format) {
    case OutputFormat::jsonl:
      return std::make_unique<JsonEntities>(output);
    case OutputFormat::table:
      return std::make_unique<MarkedEntities>(labels, numbered, width, output);
    case OutputFormat::csv:
    case OutputFormat::tsv:
      return std::make_unique<ColumnEntities>(format == OutputFormat::csv, output);
    default:
      return std::make_unique<TsvEntities>(output);
  }
}

}  // namespace linformer::cli
