// Tests -o, --output-format and --keep: the file and the format of the answers, and the input fields that they repeat.
#include <doctest/doctest.h>

#include "answers/columns.h"
#include "arrays.h"
#include "input/json_members.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::keep_test {

using linformer::cli::OwnFields;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("cells of CSV are quoted as RFC 4180 says, and cells of TSV have no line ends") {
  using linformer::cli::csv_cell, linformer::cli::tsv_cell;
  CHECK(csv_cell("plain text") == "plain text");
  CHECK(csv_cell("") == "");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"so\"") == "\"say \"\"so\"\"\"");
  CHECK(csv_cell("two\nlines") == "\"two\nlines\"");
  CHECK(csv_cell("cr\r") == "\"cr\r\"");
  CHECK(tsv_cell("a\tb\r\nc\"") == "a b  c\"");
}

TEST_CASE("members of a JSON object are kept as they are written, in one line") {
  const std::string line =
      " { \"a\" : 1.50 ,\"b\":[1, {\"x\": \"] } , \\\" \"}],\"\\u0063\":\"d \\\\\", \"e\":null, \"f\": {} } ";
  OwnFields all;
  CHECK(linformer::cli::read_all_members(line, &all) == "");
  CHECK(*all.names == Lines{"a", "b", "c", "e", "f"});
  CHECK(all.values == Lines{"1.50", "[1,{\"x\":\"] } , \\\" \"}]", "\"d \\\\\"", "null", "{}"});
  OwnFields named;
  named.names = std::make_shared<const Lines>(Lines{"c", "a"});
  CHECK(linformer::cli::read_members(line, &named) == "");
  CHECK(named.values == Lines{"\"d \\\\\"", "1.50"});
  named.names = std::make_shared<const Lines>(Lines{"z"});
  CHECK(linformer::cli::read_members(line, &named) == "no field 'z' for --keep (fields: a, b, c, e, f)");
  OwnFields twice;
  CHECK(linformer::cli::read_all_members("{\"a\":1,\"a\":2}", &twice) == "field 'a' occurs twice");
  OwnFields none;
  CHECK(linformer::cli::read_all_members("{}", &none) == "");
  CHECK(none.values.empty());
}

TEST_CASE("classify --keep: kept columns come before the answer's columns, with a header") {
  const CliFixture f;
  const std::string csv = f.file("t.csv", "key,text,label\n1,\"good,\n\"\"film\"\"\",x\n2,bad\n3,bad film,\n"),
                    out = f.path("out.csv");
  const Ran ran = run({"classify", f.model(), "-i", csv, "--keep", "all", "-o", out});
  CHECK(ran.code == 1);
  CHECK(ran.out == "");
  const std::string written = read_file(out);
  CAPTURE(written);
  CHECK(
      written.starts_with("key,text,label,id,linformer_label,probability,tokens,total_tokens,error\n"
                          "1,\"good,\n\"\"film\"\"\",x,1,pos,0."));
  CHECK(has(written, "\n,,,2,,,,,\"" + csv + ":4: 2 fields in the row, and the first row has 3\"\n"));
  CHECK(has(written, "\n3,bad film,,3,neg,0."));
  // Kept columns have the order of --keep. On standard output the format is TSV without an option.
  const Ran tsv = run({"classify", f.model(), "-i", csv, "--keep", "label,key", "--limit", "1"});
  CHECK(tsv.code == 0);
  CHECK(
      tsv.out.starts_with("label\tkey\tid\tlinformer_label\tprobability\ttokens\ttotal_tokens\terror\nx\t1\t1\tpos\t"));
  const Ran lines = run({"classify", f.model(), "-i", csv, "--keep", "key,label", "--json", "--limit", "1"});
  CHECK(lines.out.starts_with("{\"key\":\"1\",\"label\":\"x\",\"id\":1,\"linformer_label\":\"pos\","));
  CHECK(json_lines(lines.out).size() == 1);
}

TEST_CASE("classify --keep: fields of JSON lines come back as they are written") {
  const CliFixture f;
  const std::string file =
      f.file("t.jsonl",
             "{\"text\": \"good\", \"n\": 1.50, \"o\": {\"a\": [1, 2]}, \"s\": \"x,\\ty\", \"e\": null}\n"
             "{\"text\": \"bad\", \"other\": true}\n");
  const Ran all = run({"classify", f.model(), "-i", file, "--keep", "all", "--json"});
  CHECK(all.code == 0);
  CHECK(lines_of(all.out).at(0).starts_with(
      "{\"text\":\"good\",\"n\":1.50,\"o\":{\"a\":[1,2]},\"s\":\"x,\\ty\",\"e\":null,\"id\":1,\"label\":\"pos\""));
  CHECK(lines_of(all.out).at(1).starts_with("{\"text\":\"bad\",\"other\":true,\"id\":2,\"label\":\"neg\""));
  const Ran named = run({"classify", f.model(), "-i", file, "--keep", "n,o,s,e", "--output-format", "csv"});
  CHECK(named.code == 1);
  CHECK(has(named.out, "\n1.50,\"{\"\"a\"\":[1,2]}\",\"x,\ty\",,1,pos,"));
  CHECK(has(named.out, "no field 'n' for --keep (fields: text, other)"));
  const Ran columns = run({"classify", f.model(), "-i", file, "--keep", "all", "-o", f.path("o.csv")});
  CHECK(columns.code == 2);
  CHECK(has(columns.err, "--keep all: each record of JSON lines may have other fields"));
}

TEST_CASE("--keep: the error for an unknown name lists the names, and every file must have the first file's columns") {
  const CliFixture f;
  const std::string csv = f.file("t.csv", "key,text\n1,good\n"), other = f.file("u.csv", "text,more\nbad,2\n"),
                    twice = f.file("v.csv", "a,text,a\n1,good,2\n"), out = f.path("out.csv");
  const Ran missing = run({"classify", f.model(), "-i", csv, "--keep", "no", "-o", out});
  CHECK(missing.code == 1);
  CHECK(has(missing.err, "no field 'no' (fields: key, text)"));
  const Ran differ = run({"classify", f.model(), "-i", csv, other, "--keep", "all", "-o", out});
  CHECK(differ.code == 1);
  CHECK(has(differ.err, "other fields (text, more) than the first one (key, text)"));
  CHECK(has(run({"classify", f.model(), "-i", twice, "--keep", "all"}).err, "names field 'a' twice"));
  for (const Lines& more : std::vector<Lines>{{"good", "--keep", "all"},
                                              {"-i", csv, "--keep", "key,key"},
                                              {"-i", csv, "--keep", "all", "--table"},
                                              {"-i", csv, "--keep", "all", "--format", "text"},
                                              {"-i", csv, "--keep", "all", "--whole-files"},
                                              {"-i", csv, "--keep", "all", "--eval", "key"}}) {
    Lines arguments = {"classify", f.model()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run(arguments);
    CAPTURE(json(arguments).dump());
    CHECK(ran.code == 2);
    CHECK(has(ran.err, "--keep"));
  }
  CHECK(f.entry_count() == 4);  // no output file was left
}

TEST_CASE("-o: the ending chooses the format, and --output-format overrides it") {
  const CliFixture f;
  const Lines head = {"classify", f.model(), "good", "bad"};
  const auto written = [&](const std::string& name, const Lines& more = {}) {
    Lines arguments = head;
    arguments.insert(arguments.end(), {"-o", f.path(name)});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
    CHECK(ran.out == "");
    return read_file(f.path(name));
  };
  CHECK(written("a.jsonl") == run({"classify", f.model(), "good", "bad", "--json"}).out);
  CHECK(written("a.txt") == run({"classify", f.model(), "good", "bad"}).out);
  CHECK(written("a") == written("a.txt"));
  const std::string csv = run({"classify", f.model(), "good", "bad", "--output-format", "csv"}).out;
  CHECK(csv.starts_with("id,label,probability,tokens,total_tokens,error\n1,pos,0."));
  CHECK(lines_of(csv).size() == 3);
  CHECK(written("a.csv") == csv);
  CHECK(written("a.tsv").starts_with("id\tlabel\t"));
  CHECK(written("b.jsonl", {"--output-format", "csv"}) == csv);
  CHECK(written("c.csv", {"--top-k", "2"}).starts_with("id,label,probability,label_2,probability_2,tokens,"));
  CHECK(written("d.csv", {"--head", "sentiment,topic"})
            .starts_with("id,sentiment.label,sentiment.probability,topic.label,topic.probability,tokens,"));
  for (const Lines& wrong : std::vector<Lines>{{"-o", f.path("x.parquet")},
                                               {"-o", f.path("x.npy")},
                                               {"-o", f.path("x.csv"), "--json"},
                                               {"--output-format", "csv", "--json"},
                                               {"--output-format", "npy"}}) {
    Lines arguments = head;
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Ran ran = run(arguments);
    CHECK(ran.code == 2);
    CHECK(lines_of(ran.err).size() == 1);
    if (has(wrong[1], "parquet")) CHECK(has(ran.err, "Parquet is not written; name a FILE.csv"));
  }
}

TEST_CASE("-o leaves the old file as it is if the input fails") {
  const CliFixture f;
  const std::string file = f.file("t.csv", "text\ngood\n"), bad = f.file("b.csv", "x\ngood\n"),
                    out = f.file("out.csv", "old");
  const Ran ran = run({"classify", f.model(), "-i", file, bad, "-o", out});
  CHECK(ran.code == 1);
  CHECK(read_file(out) == "old");
  CHECK(f.entry_count() == 4);
  CHECK(run({"classify", f.model(), "-i", file, "-o", file}).code == 2);
  CHECK(run({"classify", f.model(), "-i", file, "-o", out}).code == 0);
  CHECK(read_file(out).starts_with("id,label"));
}

TEST_CASE("heads that give several labels or numbers have columns of their own") {
  const CliFixture several({.kind = linformer::HeadKind::multi_label}), numbers({.numbers = true});
  const Ran labels = run({"classify", several.model(), "good", "--threshold", "0", "--output-format", "csv"});
  CHECK(labels.out.starts_with("id,labels,probabilities,tokens,total_tokens,error\n1,\"pos,"));
  CHECK(lines_of(labels.out).size() == 2);
  const Ran score = run({"classify", numbers.model(), "good", "--head", "relevance", "--output-format", "csv"});
  CHECK(score.out.starts_with("id,score,tokens,"));
  const Ran values = run({"classify", numbers.model(), "good", "--head", "mood", "--output-format", "tsv"});
  CHECK(values.out.starts_with("id\tvalue_up\tvalue_down\ttokens\t"));
}

TEST_CASE("--eval --records with -o writes the answers to the file and the evaluation to standard output") {
  const CliFixture f;
  const std::string file = f.file("t.csv", "text,y\ngood,pos\nbad,pos\n"), out = f.path("out.csv");
  const Ran ran = run({"classify", f.model(), "-i", file, "--eval", "y", "--records", "--keep", "y", "-o", out});
  CHECK(ran.code == 0);
  CHECK(has(ran.out, "accuracy"));
  CHECK(read_file(out).starts_with("y,id,label,probability,truth,tokens,total_tokens,error\npos,1,pos,0."));
  CHECK(run({"classify", f.model(), "-i", file, "--eval", "y", "--records", "--output-format", "csv"}).code == 2);
}

TEST_CASE("embed, fill-mask and tokenize have output formats and keep input fields") {
  const CliFixture f({.embedding = true});
  const std::string file = f.file("t.csv", "key,text\na,good\n\"b,c\",bad film\n"), out = f.path("v.csv");
  CHECK(run({"embed", f.model(), "-i", file, "--keep", "key", "-o", out}).code == 0);
  CHECK(read_file(out).starts_with("key,id,embedding_0,embedding_1,"));
  CHECK(has(read_file(out), "\n\"b,c\",2,"));
  const Ran lines = run({"embed", f.model(), "-i", file, "--keep", "key", "--json"});
  CHECK(lines.out.starts_with("{\"key\":\"a\",\"id\":1,\"embedding\":["));
  const Ran array = run({"embed", f.model(), "-i", file, "--keep", "key", "-o", f.path("v.npy")});
  CHECK(array.code == 2);
  CHECK(has(array.err, "no place for your fields in an array"));
  CHECK(run({"embed", f.model(), "-i", file, "-o", f.path("v.jsonl")}).code == 0);
  CHECK(json_lines(read_file(f.path("v.jsonl"))).size() == 2);
  CHECK(parse_float_npy(run({"embed", f.model(), "-i", file, "--output-format", "npy"}).out).shape == Shape{2, 16});

  CHECK(run({"tokenize", f.model(), "-i", file, "--keep", "all", "-o", f.path("t.jsonl")}).code == 0);
  CHECK(read_file(f.path("t.jsonl")).starts_with("{\"key\":\"a\",\"text\":\"good\",\"ids\":[2,5,3],"));
  const Ran tokens = run({"tokenize", f.model(), "-i", file, "-o", f.path("t.csv2.csv")});
  CHECK(tokens.code == 2);
  CHECK(has(tokens.err, "end its name in .jsonl"));
}

TEST_CASE("--quiet prints only errors, and --verbose prints every error") {
  const CliFixture f;
  std::string content;
  for (int i = 0; i < 30; ++i) content += "{\n";
  const std::string file = f.file("t.jsonl", "{\"text\":\"good\",\"y\":\"pos\"}\n" + content),
                    json_text = f.file("t.txt", "{\"a\": 1}\n");
  const Ran noted = run({"classify", f.model(), "-i", json_text}),
            quiet = run({"classify", f.model(), "-i", json_text, "--quiet"});
  CHECK(lines_of(noted.err).size() == 1);
  CHECK(quiet.err == "");
  CHECK(quiet.out == noted.out);
  const Lines eval = {"classify", f.model(), "-i", file, "--eval", "y"};
  const auto errors = [&](const char* option) {
    Lines arguments = eval;
    if (option != nullptr) arguments.emplace_back(option);
    return lines_of(run(arguments).err);
  };
  CHECK(errors(nullptr).size() == 21);
  CHECK(errors("--quiet").size() == 21);
  const Lines all = errors("--verbose");
  CHECK(all.size() == 32);
  CHECK(has(all.back(), "31 records in "));
  CHECK(run({"classify", f.model(), "good", "--quiet", "--verbose"}).code == 2);
}

}  // namespace linformer_test::keep_test
