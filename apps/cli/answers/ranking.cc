#include "answers/ranking.h"

#include <algorithm>

#include "command_line/display.h"
#include "command_line/errors.h"
#include "system/terminal.h"

namespace linformer::cli {
namespace {

std::string id_text(const nlohmann::json& id) { return id.is_string() ? id.get<std::string>() : id.dump(); }

std::vector<std::string> column_names(bool several) {
  std::vector<std::string> names = {"index", "id", "score", "text"};
  if (several) names.insert(names.begin(), "query");
  return names;
}

}  // namespace

RankingWriter::RankingWriter(OutputFormat format, bool several_queries, OutputStream* output)
    : format_(format),
      several_(several_queries),
      width_(output->fd() >= 0 && system::is_terminal(output->fd()) ? terminal_width(output->fd(), 100) : 0),
      output_(output) {
  if (format == OutputFormat::csv || format == OutputFormat::tsv) {
    columns_.emplace(format == OutputFormat::csv, column_names(several_queries), output);
  }
}

void RankingWriter::write(size_t query, const RankedDocument& document, float score) {
  if (format_ == OutputFormat::jsonl) return write_json(query, document, score);
  const std::string text = document.text.value_or("");
  std::vector<std::string> cells = {std::to_string(document.index), id_text(document.id), shortest_text(score), text};
  if (several_) cells.insert(cells.begin(), std::to_string(query));
  if (columns_) return columns_->write(document.own, cells);
  std::string line;
  if (several_) line += cells[0] + "\t";
  line += excerpt(id_text(document.id), uncut) + "\t" + shortest_text(score) + "\t";
  constexpr int least = 20, of_tabs = 16;
  line += excerpt(text, width_ == 0 ? uncut : std::max(least, width_ - of_tabs - display_width(line)));
  output_->write(line + "\n");
}

void RankingWriter::write_json(size_t query, const RankedDocument& document, float score) {
  nlohmann::ordered_json line;
  if (several_) line["query"] = query;
  line["index"] = document.index;
  line["id"] = document.id;
  line["score"] = double_of_shortest_text(score);
  if (document.text) line["text"] = *document.text;
  output_->write(json_line(document.own, line));
}

void RankingWriter::finish() {
  if (columns_) columns_->finish();
}

Rankings::Rankings(size_t queries, int64_t max_documents) {
  for (size_t i = 0; i < queries; ++i) best_.push_back({value_or_throw(TopScores::create(max_documents)), {}});
}

void Rankings::add(size_t query, const std::shared_ptr<const RankedDocument>& document, float score) {
  Best& best = best_[query];
  int64_t dropped = -1;
  check(best.scores.add(document->index, score, &dropped));
  if (dropped == document->index) return;
  best.documents.erase(dropped);
  best.documents.emplace(document->index, document);
}

void Rankings::write(RankingWriter* writer) {
  for (size_t query = 0; query < best_.size(); ++query) {
    for (const Scored& scored : best_[query].scores.best()) {
      writer->write(query + 1, *best_[query].documents.at(scored.index), scored.score);
    }
  }
}

}  // namespace linformer::cli
