// Tests the notes about texts that look like another format or are in another encoding.
#include "input/input_notes.h"

#include <doctest/doctest.h>

#include "input_files.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::input_notes_test {

using namespace linformer::cli;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns the notes about these lines.
std::string hint(const std::vector<std::string>& lines, const std::string& field = "text") {
  FormatHint format(field);
  std::string said;
  for (const std::string& line : lines) said += format.check_next_line(line);
  return said;
}

}  // namespace

TEST_CASE("JSON and tables that are read as texts are noticed") {
  for (const std::string& line : std::vector<std::string>{"{\"text\": \"good\"}", " {\"a\":1}", "{", "[",
                                                          "[{\"text\":\"a\"}]", "[ {", "[\"a\", \"b\"]"}) {
    CAPTURE(line);
    CHECK(has(hint({line, "more"}), "add --format jsonl"));
  }
  CHECK(has(hint({"text,label", "a film,1"}), "--format csv"));
  CHECK_FALSE(has(hint({"text,label", "a film,1"}), "--field"));
  CHECK(has(hint({"id,review", "1,\"two"}), "--format csv --field NAME"));
  CHECK_FALSE(has(hint({"id,review", "1,two"}, "review"), "--field"));
  CHECK(has(hint({"text;label", "a film;1"}), "--format csv --delimiter ';'"));
  CHECK(has(hint({"text|label", "a film|1"}), "--delimiter '|'"));
  CHECK(has(hint({"sentence\tlabel", "a film\t1"}), "--format tsv --field NAME"));
  CHECK(has(hint({"\"text\",\"label\"", "\"a, film\",1"}), "--format csv"));
  CHECK(has(hint({"1\ta film", "0\ta waste"}), "--format tsv"));
  CHECK(has(hint({"1\ta film", "0\ta waste"}), "--no-header"));
}

TEST_CASE("lines that end in CR alone are read as one text, and a note says so once") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "-i", f.file("mac.txt", "good\rbad\rfilm\r")});
  CHECK(ran.code == 0);
  CHECK(lines_of(ran.out).size() == 1);
  CHECK(lines_of(ran.err).size() == 1);
  CHECK(has(ran.err, "tr '\\r' '\\n'"));
  CHECK(has(hint({"{\"a\":1}\r{\"a\":2}"}), "carriage returns (CR) in it"));
  CHECK(run({"classify", f.model(), "-i", f.file("dos.txt", "good\r\nbad\r\n")}).err == "");
}

TEST_CASE("a note says that a table has no records") {
  const CliFixture f;
  for (const std::string text : {"", "review\n"}) {
    const Ran ran = run({"classify", f.model(), "-i", f.file("empty.csv", text), "--field", "review"});
    CHECK(ran.code == 0);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(has(ran.err, "empty.csv: there are no records in it"));
  }
  CHECK(run({"classify", f.model(), "-i", f.file("one.csv", "review\ngood\n"), "--field", "review"}).err == "");
  CHECK(run({"classify", f.model(), "-i", f.file("empty.txt", "")}).err == "");
}

TEST_CASE("texts are not taken for JSON or tables") {
  const std::vector<std::vector<std::string>> texts = {
      {"Hello, world", "Well, that was nice, really"},
      {"A fine film.", "A waste of time."},
      {"", ""},
      {"one", "two"},
      {"{curly} braces", "more"},
      {"[MASK] is good", "[CLS] is not"},
      {"[1] says the note", "[2] too"},
      {"\"Good,\" she said", "and left, too"},
      {"1,2,3", "4,5,6"},
      {"text,label", "a film"},
      {"a\tb", "no tab"},
      {"text,label"},
      {"first", "text,label", "a,b"},
  };
  for (const auto& lines : texts) {
    CAPTURE(json(lines).dump());
    CHECK(hint(lines) == "");
  }
  // The note is given once.
  CHECK(has(hint({"{\"a\":1}", "{\"a\":1}"}), "add --format jsonl"));
  CHECK(hint({"{\"a\":1}", "{\"a\":1}"}) == hint({"{\"a\":1}"}));
}

TEST_CASE("one note on standard error names the option, and standard output doesn't change") {
  const CliFixture f({.embedding = true});
  const std::string records = "{\"text\":\"good [MASK]\"}\n{\"text\":\"bad [MASK]\"}\n";
  const std::string file = f.file("in", records), other = f.file("other", records), out = f.path("o.npy");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"classify", f.model(), "-i", file, "-i", other, "--json"},
                                             {"fill-mask", f.model(), "-i", file, "--json"},
                                             {"embed", f.model(), "-i", file, "--json"},
                                             {"embed", f.model(), "-i", file, "-o", out},
                                             {"encode", f.model(), "-i", file, "-o", out, "--max-tokens", "12"},
                                             {"tokenize", f.model(), "-i", file},
                                             {"perplexity", f.model(), "-i", file, "--json"}}) {
    CAPTURE(json(arguments).dump());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
    size_t notes = 0;
    for (const std::string& line : lines_of(ran.err)) {
      if (has(line, "in: the first line looks like JSON and is read as plain text")) ++notes;
      CHECK(line.starts_with("linformer: "));
    }
    CHECK(notes == 1);
    CHECK(has(ran.err, "add --format jsonl"));
    json_lines(ran.out);  // throws if a line isn't JSON
    std::vector<std::string> said = arguments;
    said.insert(said.end(), {"--format", "text"});
    CHECK_FALSE(has(run(said).err, "looks like"));
  }
  const Ran pipe = run({"classify", f.model(), "-", "--json"}, records);
  CHECK(has(pipe.err, "standard input: the first line looks like JSON"));
  CHECK(run({"classify", f.model(), "-", "--json", "--format", "text"}, records).out == pipe.out);
  CHECK(has(run({"classify", f.model(), "-"}, gzipped("text,label\ngood,1\n")).err, "add --format csv"));
  CHECK(run({"classify", f.model(), "-i", f.file("in.jsonl", records)}).err == "");
  CHECK(run({"classify", f.model(), "-"}, "good film\nbad film\n").err == "");
  CHECK(run({"classify", f.model(), "{\"text\":\"good\"}"}).err == "");
  // If plain text is given with --format jsonl, the error names --format text.
  const Ran plain = run({"tokenize", f.model(), "--format", "jsonl"}, "good\n");
  CHECK(plain.code == 1);
  CHECK(has(plain.out, "for lines of plain text add --format text"));
}

TEST_CASE("the error for a JSON record of several lines says how to write it in one line") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "-i", f.file("in.json", "{\n \"text\": \"good\"\n}\n")});
  CHECK(ran.code == 1);
  CHECK(has(lines_of(ran.out).at(0),
            "in.json:1: not JSON: syntax error at byte 2, where the line ends; a record is one "
            "line: jq -c . FILE"));
}

TEST_CASE("invalid UTF-8 is counted and noted at the end") {
  const CliFixture f;
  const std::string text =
      "good\nb\xE4"
      "d\nfine\n\xFF\n";
  const Ran ran = run({"classify", f.model(), "-", "--json"}, text);
  CHECK(ran.code == 0);
  CHECK(json_lines(ran.out).size() == 4);
  CHECK(ran.err ==
        "linformer: standard input: invalid UTF-8 in 2 of 4 records (line 2, 4), read as U+FFFD; if it is in another "
        "encoding, convert it: iconv -f ENCODING -t UTF-8\n");
  CHECK(has(run({"classify", f.model(), "-i", f.file("in", text)}).err, "in: invalid UTF-8 in 2 of 4 records"));
  CHECK(has(run({"classify", f.model(), "-i", f.file("in.gz", gzipped(text))}).err, "in 2 of 4 records"));
  const std::string table = "id,text,pair\n1,good,x\n2,\"two\nlines\xFF\",x\n\n3,x,\xC3\n";
  const Ran csv = run({"tokenize", f.model(), "--format", "csv"}, table);
  CHECK(has(csv.err, "in 2 of 3 records (line 3, 6), read"));
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "\xE4\n";
  CHECK(has(run({"classify", f.model(), "-"}, many).err, "in 2,000 of 2,000 records (line 1, 2, 3, 4, 5, ...), read"));
  CHECK(has(run({"classify", f.model(), "go\xE4", "good"}).err, "the command line: invalid UTF-8 in 1 of 2 records, "));
  // Compressed input that breaks off after some records has exit code 1.
  const Ran cut = run({"classify", f.model(), "-"}, gzipped(text).substr(0, 30));
  CHECK(cut.code == 1);
  // In JSON, invalid UTF-8 makes a bad record, and the record's error says so.
  const Ran json_record = run({"classify", f.model(), "-", "--format", "jsonl"}, "{\"text\":\"\xFF\"}\n");
  CHECK(json_record.code == 1);
  CHECK(has(json_record.out, "invalid UTF-8 at byte 10"));
  CHECK(run({"classify", f.model(), "-"},
            "g\xC3\xB6\xC3\xB6"
            "d \xF0\x9F\x98\x80\n")
            .err == "");
}

}  // namespace linformer_test::input_notes_test
