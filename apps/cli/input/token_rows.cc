#include "input/token_rows.h"

#include <algorithm>

#include "command_line/errors.h"
#include "input/json_fields.h"
#include "input/npy.h"
#include "input/record_loop.h"

namespace linformer::cli {
namespace {

void add_row(const std::vector<int64_t>& row, std::span<const uint8_t> types, const std::string& place,
             const Model& model, TokenRows* rows) {
  const int64_t vocabulary = model.info().vocabulary;
  std::vector<int32_t> ids(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] < 0 || row[i] >= vocabulary) {
      throw DataError(place + ", token " + std::to_string(i) + ": id " + std::to_string(row[i]) +
                      " is outside the vocabulary of " + std::to_string(vocabulary));
    }
    ids[i] = static_cast<int32_t>(row[i]);
  }
  rows->add(ids, types);
}

}  // namespace

void TokenRows::remove(int32_t id) {
  size_t kept = 0, row = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    for (; row < starts_.size() && starts_[row] == i; ++row) starts_[row] = kept;
    if (ids_[i] == id) continue;
    ids_[kept] = ids_[i];
    types_[kept++] = types_[i];
  }
  for (; row < starts_.size(); ++row) starts_[row] = kept;
  ids_.resize(kept);
  types_.resize(kept);
}

TokenRows read_ids(const std::string& path, const Model& model, size_t max_line_bytes, uint64_t limit) {
  ByteSource source(path);
  source.expect_text(true);
  TokenRows rows;
  std::vector<int64_t> row;
  const auto full = [&] { return limit > 0 && rows.size() >= limit; };
  if (source.peek() == npy_first_byte) {
    NpyIdReader reader(&source);
    rows.rectangular = true;
    if (reader.columns() > int64_t{max_dimension}) {
      throw DataError(source.name() + " has " + std::to_string(reader.columns()) +
                      " columns of tokens, and the model takes at most " + std::to_string(model.info().max_tokens) +
                      ": cut the rows");
    }
    while (!full() && reader.next(&row))
      add_row(row, {}, source.name() + ": row " + std::to_string(rows.size()), model, &rows);
    return rows;
  }
  std::string line;
  for (uint64_t number = 1; !full(); ++number) {
    const std::string place = source.name() + ":" + std::to_string(number);
    const LineResult result = source.read_line(&line, max_line_bytes);
    if (result == LineResult::end) return rows;
    if (result == LineResult::too_long) {
      throw DataError(place + ": the line is longer than " + std::to_string(max_line_bytes) +
                      " bytes; raise --max-line-bytes");
    }
    if (std::all_of(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t' || c == '\r'; })) continue;
    if (const std::string error = read_json_integers(line, &row); !error.empty()) {
      throw DataError(place + ": " + error + "; expected an npy file or lines such as [0, 31, 2]");
    }
    add_row(row, {}, place, model, &rows);
  }
  return rows;
}

TokenRows read_texts(const InputOptions& input, const TextRowOptions& given, const Model& model,
                     const Tokenizer& tokenizer, uint64_t* cut) {
  TokenRows rows;
  Encoding encoding;
  EncodeOptions options = given.tokens;
  options.max_length = given.max_tokens;
  std::vector<int64_t> row;
  uint64_t records = 0;
  const auto add = [&](const std::string& text, const std::optional<std::string>& pair) {
    const std::string place = "text " + std::to_string(records);
    const Status status =
        pair ? tokenizer.encode(text, *pair, options, &encoding) : tokenizer.encode(text, options, &encoding);
    if (!status.ok()) throw DataError(place + ": " + status.message());
    if (encoding.truncated() && !given.allow_cut) {
      throw DataError(place + " has " + std::to_string(encoding.total_tokens()) + " tokens and at most " +
                      std::to_string(given.max_tokens) + " are read; use --on-long truncate");
    }
    *cut += encoding.truncated() ? 1 : 0;
    row.assign(encoding.ids().begin(), encoding.ids().end());
    add_row(row, encoding.type_ids(), place, model, &rows);
  };
  RecordLoop loop;
  loop.visit = [&](Record& record) {
    ++records;
    if (!record.error.empty()) throw DataError(record.error);
    if (!given.apart) return add(record.text, record.pair);
    if (!record.pair) {
      throw DataError("text " + std::to_string(records) +
                      " has no second text, and this head compares two; give it with --pair or --pair-text");
    }
    add(record.text, std::nullopt);
    add(*record.pair, std::nullopt);
  };
  Progress progress(true);
  loop.progress = &progress;
  loop.run(input, input.fields(""));
  return rows;
}

}  // namespace linformer::cli
