#include "input/chunks.h"

#include <algorithm>

#include "command_line/errors.h"
#include "input/record_loop.h"
#include "input/token_rows.h"
#include "models/model_file.h"

namespace linformer::cli {
namespace {

class Chunker {
 public:
  Chunker(const ChunkOptions& options, const Model& model, std::vector<int32_t> around)
      : options_(options), model_(model), around_(std::move(around)) {
    const ModelInfo info = model.info();
    rows_ = options.rows > 0 ? options.rows : std::min<int64_t>(info.max_tokens, default_rows);
    if (rows_ > info.max_tokens) {
      throw UsageError("--max-tokens " + std::to_string(rows_) + ": the model takes at most " +
                       std::to_string(info.max_tokens));
    }
    extra_ = info.prefix_rows + (around_.empty() ? 0 : static_cast<int64_t>(around_.size()) - 1);
    const int64_t least = options.least > 0 ? std::min(options.least, rows_) : rows_;
    if (least <= extra_) {
      throw UsageError("--max-tokens " + std::to_string(least) + " leaves no room for a text; raise it");
    }
    chunks_.rows = rows_;
    const auto place = std::find(around_.begin(), around_.end(), TokenizerInfo::first_text);
    if (place != around_.end()) chunks_.after = static_cast<size_t>(around_.end() - place) - 1;
  }

  bool full() const { return options_.texts > 0 && static_cast<int64_t>(chunks_.texts.size()) >= options_.texts; }

  void add(std::span<const int32_t> ids) {
    const size_t before = chunks_.texts.size();
    const int32_t pad = model_.info().pad_id;
    for (const int32_t id : ids) {
      if (pad < 0 || id != pad) left_.push_back(id);
      if (static_cast<int64_t>(left_.size()) == rows_ - extra_) finish_chunk();
      if (full()) return;
    }
    if (!options_.apart) return;
    if (chunks_.texts.size() == before) ++chunks_.short_records;
    longest_left_ = std::max(longest_left_, left_.size());
    left_.clear();
  }

  Chunks take(const std::string& source) {
    if (!chunks_.texts.empty()) return std::move(chunks_);
    const int64_t longest = static_cast<int64_t>(std::max(longest_left_, left_.size())) + (any_text() ? extra_ : 0);
    const bool enough = static_cast<int64_t>(left_.size()) > 1;
    if (options_.apart || options_.rows > 0 || !enough) {
      throw DataError(source + ": the longest text has " + std::to_string(longest) +
                      " tokens, special tokens included, and " + std::to_string(rows_) +
                      " are needed; lower --max-tokens or give more text");
    }
    rows_ = chunks_.rows = longest;
    finish_chunk();
    return std::move(chunks_);
  }

 private:
  bool any_text() const { return longest_left_ > 0 || !left_.empty(); }

  void finish_chunk() {
    std::vector<int32_t> chunk;
    for (const int32_t id : around_) {
      if (id != TokenizerInfo::first_text) {
        chunk.push_back(id);
      } else {
        chunk.insert(chunk.end(), left_.begin(), left_.end());
      }
    }
    if (around_.empty()) chunk = left_;
    chunks_.texts.push_back(std::move(chunk));
    left_.clear();
  }

  const ChunkOptions& options_;
  const Model& model_;
  std::vector<int32_t> around_;   // The tokenizer's template for a text; empty if a text has no special tokens.
  int64_t rows_ = 0, extra_ = 0;  // The rows of a chunk, and how many of them are not tokens of the text.
  std::vector<int32_t> left_;     // The tokens of the chunk that is not yet full.
  size_t longest_left_ = 0;       // With `apart`: the most tokens of one record that filled no chunk.
  Chunks chunks_;
};

}  // namespace

std::vector<int32_t> Chunks::shortened_chunk(size_t index, int64_t encoder_rows) const {
  std::vector<int32_t> tokens = texts[index];
  const auto end = tokens.end() - static_cast<std::ptrdiff_t>(after);
  tokens.erase(end - (rows - encoder_rows), end);
  return tokens;
}

Chunks read_chunks(const InputOptions& input, const ChunkOptions& given, const std::shared_ptr<const Model>& model,
                   const std::string& path) {
  ChunkOptions options = given;
  if (!options.ids.empty()) {
    require_tokens(*model, path);
    options.apart = true;
    Chunker chunker(options, *model, {});
    const TokenRows rows = read_ids(options.ids, *model, input.max_line_bytes, input.limit);
    for (size_t i = 0; i < rows.size() && !chunker.full(); ++i) chunker.add(rows[i]);
    return chunker.take(options.ids == "-" ? "standard input" : options.ids);
  }
  const Tokenizer tokenizer = load_tokenizer(model, path);
  const std::span<const int32_t> around = model->tokenizer().single_template;
  Chunker chunker(options, *model, {around.begin(), around.end()});
  EncodeOptions encode;
  encode.add_special_tokens = false;
  encode.match_special_tokens = !options.literal_special;
  Encoding encoding;
  const std::vector<std::string> files = input.all_input_paths({});
  const std::string name = files.empty() ? "the command line" : files.back() == "-" ? "standard input" : files.back();
  RecordLoop loop;
  loop.visit = [&](Record& record) {
    if (!record.error.empty()) throw DataError(record.error);
    const Status status = tokenizer.encode(record.text, encode, &encoding);
    if (!status.ok()) throw DataError(name + ": " + status.message());
    chunker.add(encoding.ids());
  };
  loop.full = [&] { return chunker.full(); };
  loop.run(input, input.fields(""));
  return chunker.take(name);
}

}  // namespace linformer::cli
