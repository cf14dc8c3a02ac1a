#include "input/records.h"

#include <doctest/doctest.h>

#include "base/description.h"
#include "command_line/errors.h"
#include "sentiment_model.h"

namespace linformer_test::records_test {

using namespace linformer::cli;

namespace {

std::vector<Record> read_all(const std::string& content, Format format, const RecordFields& fields = {},
                             const RecordLimits& limits = {}) {
  const Folder folder;
  ByteSource source(folder.file("input", content));
  const auto reader = open_records(&source, format, fields, limits);
  std::vector<Record> records;
  for (Record record; reader->next(&record);) records.push_back(record);
  return records;
}

std::vector<std::string> texts(const std::vector<Record>& records) {
  std::vector<std::string> found;
  for (const Record& record : records) found.push_back(record.error.empty() ? record.text : "ERROR");
  return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("text: each line is a record, also if it is blank, whatever its line end") {
  CHECK(texts(read_all("one\ntwo\n", Format::text)) == Texts{"one", "two"});
  CHECK(texts(read_all("one\ntwo", Format::text)) == Texts{"one", "two"});
  CHECK(texts(read_all("one\r\ntwo\r\n", Format::text)) == Texts{"one", "two"});
  CHECK(texts(read_all("\xEF\xBB\xBFone\n\ntwo\n", Format::text)) == Texts{"one", "", "two"});
  CHECK(texts(read_all("", Format::text)).empty());
  CHECK(texts(read_all("\xEF\xBB\xBF", Format::text)).empty());
  CHECK(texts(read_all("\n", Format::text)) == Texts{""});
  // Only a complete byte order mark at the start of the file is removed.
  CHECK(texts(read_all("\xEF\xBB", Format::text)) == Texts{"\xEF\xBB"});
  CHECK(texts(read_all("a\n\xEF\xBB\xBF"
                       "b\n",
                       Format::text)) == Texts{"a",
                                               "\xEF\xBB\xBF"
                                               "b"});
}

TEST_CASE("a line over the bound is an error record and the next one is read") {
  for (const size_t length : {size_t{10}, size_t{11}, size_t{100}, size_t{1} << 17}) {
    CAPTURE(length);
    const std::string content = std::string(length, 'x') + "\nnext\n";
    const Texts found = texts(read_all(content, Format::text, {}, {.max_bytes = 10}));
    CHECK(found == Texts{length <= 10 ? std::string(length, 'x') : "ERROR", "next"});
    const std::string json = "{\"text\": \"" + std::string(length, 'x') + "\"}\n{\"text\": \"n\"}\n";
    const std::vector<Record> records = read_all(json, Format::jsonl, {}, {.max_bytes = 25});
    REQUIRE(records.size() == 2);
    CHECK(records[0].error.empty() == (json.find('\n') <= 25));
    CHECK(records[1].text == "n");
  }
}

TEST_CASE("jsonl: fields are found by name") {
  RecordFields fields;
  fields.pair = "b";
  fields.id = "key";
  fields.label = "y";
  const auto records = read_all(
      "\n  {\"text\": \"t\\u00e4\\n\", \"b\": \"second\", \"key\": 17, \"y\": 1, \"other\": [{\"text\": \"no\"}]}\n"
      "{\"text\": \"u\", \"b\": \"\", \"key\": \"k2\", \"y\": \"pos\", \"deep\": {\"y\": [1, 2]}}\r\n",
      Format::jsonl, fields);
  REQUIRE(records.size() == 2);
  CHECK(records[0].error == "");
  CHECK(records[0].text == "t\xC3\xA4\n");
  CHECK(records[0].pair == "second");
  CHECK(records[0].id == 17);
  CHECK(records[0].label == "1");
  CHECK(records[1].pair == "");
  CHECK(records[1].id == "k2");
  CHECK(records[1].label == "pos");
}

TEST_CASE("jsonl: every kind of bad line gives an error that names the line") {
  const std::string bad[] = {
      "{",
      "\"text\"",
      "{\"text\": 5}",
      "{\"text\": [\"a\"]}",
      "{\"other\": \"a\"}",
      "{\"text\": \"a\", \"text\": \"b\"}",
      "{\"text\": \"a\"} x",
      "{\"text\": \"\xFF\"}",
      "{\"text\": \"\\ud800\"}",
      "{\"text\": " + std::string(100000, '[') + "}",
      "{\"a\": " + std::string(65, '[') + std::string(65, ']') + ", \"text\": \"a\"}",
  };
  for (const std::string& line : bad) {
    CAPTURE(line.substr(0, 80));
    const auto records = read_all(line + "\n{\"text\": \"good\"}\n", Format::jsonl);
    REQUIRE(records.size() == 2);
    CHECK(records[0].error.find("input:1: ") != std::string::npos);
    CHECK(records[0].error.find('\n') == std::string::npos);
    CHECK(records[0].error.size() < 300);
    CHECK(records[1].error == "");
    CHECK(records[1].text == "good");
  }
  // An array is only read as an array of records if it begins in the first line.
  CHECK(texts(read_all("{\"text\": \"a\"}\n[]\n[{\"text\": \"b\"}]\n", Format::jsonl)) == Texts{"a", "ERROR", "ERROR"});
  // This nesting is as deep as is allowed.
  CHECK(texts(read_all("{\"a\": " + std::string(63, '[') + std::string(63, ']') + ", \"text\": \"a\"}\n",
                       Format::jsonl)) == Texts{"a"});
}

TEST_CASE("jsonl: an optional pair may be missing, a required one not") {
  RecordFields fields;
  fields.pair = "pair";
  CHECK(texts(read_all("{\"text\": \"a\"}", Format::jsonl, fields)) == Texts{"ERROR"});
  fields.pair_optional = true;
  const auto records = read_all("{\"text\": \"a\"}\n{\"text\": \"a\", \"pair\": \"b\"}", Format::jsonl, fields);
  CHECK_FALSE(records[0].pair.has_value());
  CHECK(records[1].pair == "b");
}

TEST_CASE("a bad record keeps its id") {
  RecordFields fields;
  fields.id = "id";
  const auto records = read_all("{\"text\": 1, \"id\": \"x\"}", Format::jsonl, fields);
  CHECK(records[0].error != "");
  CHECK(records[0].id == "x");
}

TEST_CASE("csv and tsv: fields are found by the header's names or by number") {
  RecordFields fields;
  fields.text = "body";
  fields.id = "key";
  fields.label = "y";
  for (const Format format : {Format::csv, Format::tsv}) {
    const std::string s = format == Format::csv ? "," : "\t";
    const auto records =
        read_all("\xEF\xBB\xBFkey" + s + "y" + s + "body\r\nk1" + s + "0" + s + "one\r\nk2" + s + "1" + s + "two",
                 format, fields);
    CHECK(texts(records) == Texts{"one", "two"});
    CHECK(records[1].id == "k2");
    CHECK(records[1].label == "1");
    RecordFields numbered;
    numbered.text = "2";
    CHECK(texts(read_all("a" + s + "b\nc" + s + "d\n", format, numbered, {.header = false})) == Texts{"b", "d"});
    // A missing field would make every record bad. It is one error at the start.
    CHECK_THROWS_AS(read_all("a" + s + "b\n1" + s + "2\n", format, fields), DataError);
    CHECK_THROWS_AS(read_all("body" + s + "key" + s + "y" + s + "body\n", format, fields), DataError);
    CHECK(texts(read_all(
              "body" + s + "key" + s + "y\n1" + s + "2\n1" + s + "2" + s + "3" + s + "4\nok" + s + "a" + s + "b\n",
              format, fields)) == Texts{"ERROR", "ERROR", "ok"});
    CHECK(read_all("body" + s + "key" + s + "y\n", format, fields).empty());
    CHECK(read_all("", format, fields).empty());
  }
}

TEST_CASE("csv and tsv: the delimiter may be any character") {
  RecordFields fields;
  fields.id = "k";
  CHECK(texts(read_all("k;text\n1;\"a; \"\"b\"\"\"\n2;c, d\n", Format::csv, fields, {.delimiter = ';'})) ==
        Texts{"a; \"b\"", "c, d"});
  CHECK(texts(read_all("k\ttext\n1\t\"a\tb\"\n", Format::csv, fields, {.delimiter = '\t'})) == Texts{"a\tb"});
  CHECK(texts(read_all("k|text\n1|\"a\"\n", Format::tsv, fields, {.delimiter = '|'})) == Texts{"\"a\""});
  CHECK_THROWS_WITH_AS(read_all("k;text\n1;a\n", Format::csv, fields), doctest::Contains("if ';' stands between"),
                       DataError);
  CHECK_THROWS_WITH_AS(read_all("k\ttext\n1\ta\n", Format::csv, fields), doctest::Contains("if '\\t' stands"),
                       DataError);
}

TEST_CASE("the format follows the file's ending") {
  CHECK(format_of_path("a.jsonl") == Format::jsonl);
  CHECK(format_of_path("a.csv") == Format::csv);
  CHECK(format_of_path("dir.csv/a.TSV") == Format::tsv);
  CHECK(format_of_path("a.txt") == Format::text);
  CHECK(format_of_path("a") == Format::text);
  CHECK(format_of_path("a.json.gz") == Format::jsonl);
  CHECK(format_of_path("dir.csv/a.Tsv.GZ") == Format::tsv);
  CHECK(format_of_path("a.gz") == Format::text);
}

TEST_CASE("inputs that can't be read throw DataError") {
  const Folder folder;
  CHECK_THROWS_AS(ByteSource(folder.path("absent")), DataError);
  ByteSource directory(folder.path(""));
  CHECK_THROWS_AS(directory.get(), DataError);
}

}  // namespace linformer_test::records_test
