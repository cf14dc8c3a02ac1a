#include "encode_inputs.h"

#include <algorithm>

#include "errors.h"
#include "json_fields.h"
#include "npy.h"

namespace linformer::cli {
namespace {

void add_row(const std::vector<int64_t>& row, const std::string& place, const Model& model, TokenRows* rows) {
  const uint32_t vocabulary = model.description().encoder.vocab_size;
  std::vector<int32_t> ids(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] < 0 || row[i] >= vocabulary) {
      throw DataError(place + ", token " + std::to_string(i) + ": id " + std::to_string(row[i]) +
                      " is outside the vocabulary of " + std::to_string(vocabulary));
    }
    ids[i] = static_cast<int32_t>(row[i]);
  }
  rows->add(ids);
}

}  // namespace

TokenRows read_ids(const std::string& path, const Model& model, size_t max_line_bytes) {
  ByteSource source(path);
  TokenRows rows;
  std::vector<int64_t> row;
  if (source.peek() == npy_first_byte) {
    NpyIdReader reader(&source);
    if (reader.columns() > int64_t{max_dimension}) {
      throw DataError(source.name() + ": texts of " + std::to_string(reader.columns()) + " tokens; the model takes " +
                      std::to_string(model.description().encoder.max_tokens));
    }
    while (reader.next(&row)) add_row(row, source.name() + ": row " + std::to_string(rows.size()), model, &rows);
    return rows;
  }
  std::string line;
  for (uint64_t number = 1;; ++number) {
    const std::string place = source.name() + ":" + std::to_string(number);
    const LineResult result = source.read_line(&line, max_line_bytes);
    if (result == LineResult::end) return rows;
    if (result == LineResult::too_long) {
      throw DataError(place + ": longer than " + std::to_string(max_line_bytes) + " bytes; raise --max-line-bytes");
    }
    if (std::all_of(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t' || c == '\r'; })) continue;
    if (const std::string error = read_json_integers(line, &row); !error.empty()) {
      throw DataError(place + ": " + error + "; expected an npy file or lines such as [0, 31, 2]");
    }
    add_row(row, place, model, &rows);
  }
}

TokenRows read_texts(const InputFlags& input, const TokenFlags& tokens, const Model& model, const Tokenizer& tokenizer,
                     int64_t max_tokens, bool allow_cut, uint64_t* cut) {
  TokenRows rows;
  Encoding encoding;
  EncodeOptions options = tokens.options();
  options.max_length = max_tokens;
  std::vector<int64_t> row;
  const auto add = [&](const Record& record) {
    const std::string place = "text " + std::to_string(rows.size() + 1);
    if (!record.error.empty()) throw DataError(record.error);
    const Status status = record.pair ? tokenizer.encode(record.text, *record.pair, options, &encoding)
                                      : tokenizer.encode(record.text, options, &encoding);
    if (!status.ok()) throw DataError(place + ": " + status.message());
    if (encoding.truncated() && !allow_cut) {
      throw DataError(place + " has " + std::to_string(encoding.total_tokens()) + " tokens and at most " +
                      std::to_string(max_tokens) + " are read; use --on-long truncate");
    }
    *cut += encoding.truncated() ? 1 : 0;
    row.assign(encoding.ids().begin(), encoding.ids().end());
    add_row(row, place, model, &rows);
  };
  for (const std::string& text : input.texts) {
    add({.text = text, .pair = {}, .label = {}, .id = {}, .error = {}});
  }
  for (const std::string& path : input.inputs) {
    ByteSource source(path);
    const auto reader = open_records(&source, input.format_of(path), input.fields(""), input.limits());
    for (Record record; reader->next(&record);) add(record);
  }
  return rows;
}

}  // namespace linformer::cli
