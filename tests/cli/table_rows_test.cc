#include "input/table_rows.h"

#include <doctest/doctest.h>

#include <random>

#include "sentiment_model.h"

namespace linformer_test::table_rows_test {

using namespace linformer::cli;

namespace {

using Row = std::vector<std::string>;
const Row bad{"ERROR"};

std::vector<Row> rows_of(const std::string& content, bool quoted = true, size_t max_bytes = 1 << 20,
                         std::vector<uint64_t>* lines = nullptr) {
  const Folder folder;
  ByteSource source(folder.file("input", content));
  TableRows rows(&source, quoted, quoted ? ',' : '\t', max_bytes);
  std::vector<Row> found;
  Row fields;
  std::string error;
  while (rows.next(&fields, &error)) {
    found.push_back(error.empty() ? fields : bad);
    if (lines) lines->push_back(rows.line());
  }
  return found;
}

std::string in_quotes(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

}  // namespace

TEST_CASE("csv: quoted fields, line ends and blank lines are read as RFC 4180 says") {
  CHECK(rows_of("a,b\n") == std::vector<Row>{{"a", "b"}});
  CHECK(rows_of("a,b") == std::vector<Row>{{"a", "b"}});
  CHECK(rows_of("a,b\r\nc,d\r\n") == std::vector<Row>{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("\"a,b\",\"c\"\"d\"\n") == std::vector<Row>{{"a,b", "c\"d"}});
  CHECK(rows_of("\"two\nlines\",x\r\n\"\",\n") == std::vector<Row>{{"two\nlines", "x"}, {"", ""}});
  CHECK(rows_of("a\"b,c\n") == std::vector<Row>{{"a\"b", "c"}});
  CHECK(rows_of("\n\r\na\n\n\nb\n\n") == std::vector<Row>{{"a"}, {"b"}});
  CHECK(rows_of(",\n") == std::vector<Row>{{"", ""}});
  CHECK(rows_of("\"a\"") == std::vector<Row>{{"a"}});
  CHECK(rows_of("\"a\"\r\nb\n") == std::vector<Row>{{"a"}, {"b"}});
}

TEST_CASE("csv: broken quotes are errors, and what follows is read") {
  CHECK(rows_of("\"a\"x,b\nc,d\n") == std::vector<Row>{bad, {"c", "d"}});
  CHECK(rows_of("a,\"open\nc,d\n") == std::vector<Row>{bad});
  CHECK(rows_of("\"") == std::vector<Row>{bad});
}

TEST_CASE("csv: an oversized row is a bad row, and reading continues after its true end") {
  const std::string big(100, 'x');
  std::vector<uint64_t> lines;
  CHECK(rows_of("a,b\n" + big + ",\"1\n2\"\"\n3\"\nc,d\n", true, 50, &lines) ==
        std::vector<Row>{{"a", "b"}, bad, {"c", "d"}});
  CHECK(lines == std::vector<uint64_t>{1, 2, 5});
  CHECK(rows_of("\"" + big + "\nno row\n\"\nc,d\n", true, 50) == std::vector<Row>{bad, {"c", "d"}});
  CHECK(rows_of("\"" + big, true, 50) == std::vector<Row>{bad});
  CHECK(rows_of(big + "\nc", true, 50) == std::vector<Row>{bad, {"c"}});
  // The bound itself is still allowed.
  CHECK(rows_of(std::string(50, 'x') + "\nc", true, 50) == std::vector<Row>{{std::string(50, 'x')}, {"c"}});
  // An opening or closing quote stands at the bound.
  for (const size_t bound : {4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u}) {
    CAPTURE(bound);
    const auto found = rows_of("1234,\"a\nb\",\"\nc\"\nlast\n", true, bound);
    CHECK(found.front() == bad);
    CHECK(found.back() == (bound >= 4 ? Row{"last"} : bad));
    CHECK(found.size() == 2);
  }
}

TEST_CASE("csv and tsv: a row with more than max_fields fields is a bad row") {
  const std::string commas(max_fields, ','), tabs(max_fields, '\t');
  CHECK(rows_of(commas.substr(1) + "\n")[0].size() == max_fields);
  CHECK(rows_of(commas + "\nx\n") == std::vector<Row>{bad, {"x"}});
  CHECK(rows_of(tabs + "\nx\n", false) == std::vector<Row>{bad, {"x"}});
}

TEST_CASE("tsv: quotes are ordinary characters") {
  CHECK(rows_of("\"a\t'b'\r\n\n\t\nlast", false) == std::vector<Row>{{"\"a", "'b'"}, {"", ""}, {"last"}});
  CHECK(rows_of(std::string(60, 'x') + "\nc\n", false, 50) == std::vector<Row>{bad, {"c"}});
}

TEST_CASE("csv: quoted fields are read back, whatever characters they have") {
  std::mt19937 random(7);
  const std::string alphabet = "ab,\"\n\r \t";
  for (int round = 0; round < 300; ++round) {
    std::vector<Row> table(1 + random() % 4, Row(1 + random() % 4));
    std::string text;
    for (Row& row : table) {
      for (std::string& field : row) {
        for (size_t i = random() % 8; i > 0; --i) field += alphabet[random() % alphabet.size()];
        text += in_quotes(field) + ",";
      }
      text.back() = '\n';
    }
    CHECK(rows_of(text) == table);
  }
}

}  // namespace linformer_test::table_rows_test
