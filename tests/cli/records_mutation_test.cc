// Reads mutated inputs in every record format. Each input must give records or errors: at most as many as it has bytes,
// and no text longer than the input.
#include <doctest/doctest.h>

#include <fstream>
#include <random>

#include "command_line/errors.h"
#include "input/records.h"
#include "sentiment_model.h"

namespace linformer_test::records_mutation_test {

using namespace linformer::cli;

namespace {

void check_kept(const Record& record) {
  if (record.own.values.empty()) return;
  REQUIRE(record.own.names);
  REQUIRE(record.own.names->size() == record.own.values.size());
  for (const std::string& value : record.own.values) {
    if (record.own.json && record.error.empty()) CHECK(nlohmann::json::accept(value));
  }
}

}  // namespace

TEST_CASE("mutated records are read or refused") {
  const linformer_test::Folder folder;
  const std::string seeds[] = {
      "{\"text\": \"a \\u00e4 \\\"b\\\"\", \"id\": 7, \"y\": [1, {\"y\": null}, 1e5, true], \"x\": "
      "[1, \"b\"]}\n{\"text\": \"c\", \"x\": [true], \"id\": "
      "\"k\"}\n",
      "id,text\n1,\"a, \"\"b\"\"\nc\"\n2,plain\n\n3,\"last\"",
      "id\ttext\r\n1\ta \"b\r\n2\tc\r\n",
      "\xEF\xBB\xBF"
      "first\nsecond\n\nlast",
  };
  const std::string splices[] = {"\"",   "\n",  ",", "\t", "{", "[", "}", "\\", "\\u", std::string(1, '\0'),
                                 "\xFF", "text"};
  const Format formats[] = {Format::jsonl, Format::csv, Format::tsv, Format::text};
  std::mt19937 random(20240611);
  uint64_t records = 0, errors = 0, refused = 0, labels = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string content = seeds[round % 4];
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      const size_t at = random() % (content.size() + 1);
      const size_t end = std::min(content.size(), at + random() % 6);
      content.replace(at, random() % 2 == 0 ? 0 : end - at, splices[random() % std::size(splices)]);
    }
    const std::string path = folder.file("input", content);
    RecordFields fields;
    if (round % 3 == 0) fields.id = "id";
    if (round % 8 == 0) {  // mostly rounds that read JSON lines
      fields.label = "x";
      fields.max_labels = 3;
    }
    fields.keep_all = round % 7 == 0;
    if (round % 7 == 1) fields.keep = {"text"};
    try {
      ByteSource source(path);
      // In every fifth round the bytes are read in another format than that of their seed.
      const auto reader = open_records(&source, formats[(round + (round % 5 == 0 ? 1 : 0)) % 4], fields,
                                       {.max_bytes = size_t{16} << (random() % 4)});
      size_t count = 0;
      for (Record record; reader->next(&record); ++count) {
        REQUIRE(count <= content.size());
        CHECK(record.text.size() <= content.size());
        if (record.labels) CHECK(record.labels->size() <= fields.max_labels);
        check_kept(record);
        labels += record.labels ? record.labels->size() : 0;
        record.error.empty() ? ++records : ++errors;
      }
    } catch (const DataError&) {
      ++refused;  // the header lacks the fields
    }
  }
  CHECK(records > 1000);
  CHECK(errors > 1000);
  CHECK(labels > 100);
  MESSAGE("mutated inputs: " << records << " records, " << errors << " errors, " << refused
                             << " refused at the header");
}

}  // namespace linformer_test::records_mutation_test
