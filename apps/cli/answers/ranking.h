// Documents by how near they are to queries, and how they are shown.
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
  int64_t index = 0;  // in the input, from 0
  nlohmann::json id;
  OwnFields own;
  std::optional<std::string> text;  // none: its text wasn't given
};

class RankingWriter {
 public:
  // `several`: answers say which query they are to. `output` must outlive the writer.
  RankingWriter(OutputFormat format, bool several, OutputStream* output);
  // The next best document of query number `query`, from 1.
  void write(size_t query, const RankedDocument& document, float score);
  // To be called after the last one.
  void finish();

 private:
  void write_json(size_t query, const RankedDocument& document, float score);

  OutputFormat format_;
  bool several_;
  int width_;  // of the terminal; 0: it is none
  OutputStream* output_;
  std::optional<ColumnWriter> columns_;
};

// The best documents of each query, of those that were added. Documents that are among nobody's best are forgotten.
class Rankings {
 public:
  // `most`: documents of a query; 0: all.
  Rankings(size_t queries, int64_t most);
  void add(size_t query, const std::shared_ptr<const RankedDocument>& document, float score);
  // Query by query, best first, equal ones in the input's order.
  void write(RankingWriter* writer);

 private:
  struct Best {
    TopScores scores;
    std::unordered_map<int64_t, std::shared_ptr<const RankedDocument>> documents;
  };
  std::vector<Best> best_;
};

}  // namespace linformer::cli
