// The answers of `linformer rerank` and `linformer search`: the best documents of each query, and their writer.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "answers/columns.h"
#include "answers/output.h"
#include "linformer/top_scores.h"
#include "models/own_fields.h"

namespace linformer::cli {

struct RankedDocument {
  int64_t index = 0;  // The position in the input, from 0.
  nlohmann::json id;
  OwnFields own;
  std::optional<std::string> text;  // If empty, the command was not given the text.
};

class RankingWriter {
 public:
  // If `several_queries` is true, there are several queries, and each row has the number of its query. `output` must
  // outlive the writer.
  RankingWriter(OutputFormat format, bool several_queries, OutputStream* output);
  // Writes the next best document of a query. `query` is the number of the query, from 1.
  void write(size_t query, const RankedDocument& document, float score);
  // Must be called after the last document.
  void finish();

 private:
  void write_json(size_t query, const RankedDocument& document, float score);

  OutputFormat format_;
  bool several_;
  int width_;  // The columns of the terminal; 0 if the output is not a terminal.
  OutputStream* output_;
  std::optional<ColumnWriter> columns_;
};

// Keeps the best of the documents that were added, for each query. A document that is not among the best of any query
// is dropped.
class Rankings {
 public:
  // `max_documents` is the greatest number of documents that are kept for a query. If 0, all are kept.
  Rankings(size_t queries, int64_t max_documents);
  void add(size_t query, const std::shared_ptr<const RankedDocument>& document, float score);
  // Writes the documents query by query, the best first. Documents of equal score are in the order of the input.
  void write(RankingWriter* writer);

 private:
  struct Best {
    TopScores scores;
    std::unordered_map<int64_t, std::shared_ptr<const RankedDocument>> documents;
  };
  std::vector<Best> best_;
};

}  // namespace linformer::cli
