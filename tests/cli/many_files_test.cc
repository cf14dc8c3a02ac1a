// Tests inputs of several files, --whole-files, lines of fastText, and --limit.
#include <doctest/doctest.h>

#include <filesystem>

#include "arrays.h"
#include "input_files.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::many_files_test {

using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<json> ids(const Ran& ran) {
  std::vector<json> ids;
  for (const json& line : json_lines(ran.out)) ids.push_back(line["id"]);
  return ids;
}

std::vector<std::string> labels(const Ran& ran) {
  std::vector<std::string> labels;
  for (const json& line : json_lines(ran.out)) labels.push_back(line.contains("label") ? line["label"] : "ERROR");
  return labels;
}

}  // namespace

TEST_CASE("one -i takes any number of files, and their records are numbered consecutively") {
  const CliFixture f;
  const std::string one = f.file("one.txt", "good\nbad\n"), two = f.file("two.csv", "text\nbad\n"),
                    three = f.file("three.jsonl", "{\"text\":\"good\"}\n{\"text\":1}\n");
  const Ran ran = run({"classify", f.model(), "-i", one, two, "-", three, "--json"}, "good\n");
  CHECK(ran.code == 1);
  CHECK(labels(ran) == std::vector<std::string>{"pos", "neg", "neg", "pos", "pos", "ERROR"});
  CHECK(ids(ran) == std::vector<json>{1, 2, 3, 4, 5, 6});
  CHECK(has(json_lines(ran.out)[5]["error"], three + ":2: "));
  CHECK(run({"classify", f.model(), "-i", one, two, "--json"}).out ==
        run({"classify", f.model(), "-i", one, "-i", two, "--json"}).out);
  // Every command that reads texts takes several files.
  const CliFixture embedding({.embedding = true});
  CHECK(json_lines(run({"embed", embedding.model(), "-i", one, two, "--json"}).out).size() == 3);
  CHECK(json_lines(run({"tokenize", f.model(), "-i", one, two}).out).size() == 3);
  CHECK(json_lines(run({"compare", f.model(), f.model(), "-i", one, two, "--json"}).out)[0]["records"] == 3);
}

TEST_CASE("every argument after -i is a file, and help and errors say so") {
  const CliFixture f;
  const std::string one = f.file("one.txt", "good\n");
  const Ran text = run({"classify", f.model(), "-i", one, "no such text"});
  CHECK(text.code == 1);
  CHECK(text.out == "");
  CHECK(has(text.err, "no such text: No such file"));
  const Ran model = run({"classify", "-i", one, f.model(), "--json"});
  CHECK(model.code == 2);
  CHECK(has(model.err, "MODEL is required; give it before -i"));
  CHECK(has(run({"classify", "--help-all"}).out, "before -i"));
}

TEST_CASE("a folder is refused with the way to give its files, before anything is read") {
  const CliFixture f;
  const std::string one = f.file("one.txt", "good\n"), folder = f.path("texts");
  std::filesystem::create_directory(folder);
  for (const std::string& name : {folder, folder + "/"}) {
    const Ran ran = run({"classify", f.model(), "-i", one, name});
    CHECK(ran.code == 1);
    CHECK(ran.out == "");
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(has(ran.err, name + " is a folder; name its files, -i " + folder + "/*"));
  }
}

TEST_CASE("--whole-files makes each file one text that is named by its file") {
  const CliFixture f;
  const std::string one = f.file("one.txt", "bad\nbad\n\n"), two = f.file("two.csv", "good\r\n"),
                    zip = f.file("three.txt.gz", gzipped("good,\ngood\n")), empty = f.file("empty.txt", "");
  const Ran ran = run({"classify", f.model(), "--whole-files", "-i", one, two, zip, empty, "--json"});
  CHECK(ran.code == 0);
  CHECK(ids(ran) == std::vector<json>{one, two, zip, empty});
  CHECK(labels(ran)[0] == "neg");
  CHECK(labels(ran)[1] == "pos");
  CHECK(labels(ran)[2] == "pos");
  const std::vector<json> lines = json_lines(run({"tokenize", f.model(), "--whole-files", "-i", one}).out);
  CHECK(lines.at(0)["ids"] == json({2, 6, 6, 3}));
  // A table shows the end of a long path, because the end names the file.
  const Ran table = run({"classify", f.model(), "--whole-files", "--table", "-i", one, two});
  CHECK(has(table.out, "/one.txt "));
  CHECK(has(table.out, "/two.csv "));
  // Standard input is one text too.
  const Ran piped = run({"classify", f.model(), "-", "--whole-files", "--json"}, "bad\nbad\n");
  CHECK(ids(piped) == std::vector<json>{"standard input"});
  CHECK(labels(piped) == std::vector<std::string>{"neg"});
}

TEST_CASE("--whole-files: a file that isn't text or is too long is a bad record, and the other files are answered") {
  const CliFixture f;
  const std::string image = f.file("a.png", std::string("\x89PNG\r\n\x1A\n\0\0", 10)),
                    big = f.file("big.txt", std::string(2000, 'x')), good = f.file("good.txt", "good"),
                    exact = f.file("exact.txt", "good" + std::string(996, ' '));
  const Ran ran = run(
      {"classify", f.model(), "--whole-files", "--max-line-bytes", "1000", "-i", image, big, exact, good, "--json"});
  CHECK(ran.code == 1);
  CHECK(labels(ran) == std::vector<std::string>{"ERROR", "ERROR", "pos", "pos"});
  CHECK(ids(ran) == std::vector<json>{image, big, exact, good});
  CHECK(has(json_lines(ran.out)[0]["error"], "is a PNG image"));
  CHECK(has(json_lines(ran.out)[1]["error"], "longer than 1000 bytes; raise --max-line-bytes"));
}

TEST_CASE("--whole-files is refused with texts on the command line and with fields") {
  const CliFixture f;
  const std::string file = f.file("t.jsonl", "{}");
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"-i", file, "--field", "a"}, {"-i", file, "--id", "a"}, {"-i", file, "--format", "jsonl"}, {"good"}}) {
    std::vector<std::string> arguments = {"classify", f.model()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.emplace_back("--whole-files");
    const Ran ran = run(arguments);
    CHECK(ran.code == 2);
    CHECK(has(ran.err, "--whole-files"));
  }
}

TEST_CASE("labels of fastText's lines are removed from the texts, and --eval label compares with them") {
  const CliFixture f;
  const std::string lines = "__label__pos good film\n__label__neg __label__pos  bad\n\tfilm bad bad\n__label__ good\n";
  const Ran ran = run({"classify", f.model(), "-", "--format", "fasttext", "--json"}, lines);
  CHECK(ran.code == 1);
  CHECK(labels(ran) == std::vector<std::string>{"pos", "neg", "neg", "ERROR"});
  CHECK(has(json_lines(ran.out)[3]["error"], "standard input:4: a __label__ without a name"));
  CHECK(json_lines(run({"tokenize", f.model(), "-i", "-", "--format", "fasttext"}, lines).out)[0]["ids"] ==
        json({2, 5, 7, 3}));

  const std::string file = f.file("train.txt", "__label__pos good film\n__label__pos bad\n__label__NEG bad\n");
  const Ran eval = run({"classify", f.model(), "-i", file, "--format", "fasttext", "--eval", "label", "--json"});
  CHECK(eval.code == 0);
  CHECK(json_lines(eval.out).at(0)["evaluation"]["accuracy"] == doctest::Approx(2. / 3));
  const Ran bad = run({"classify", f.model(), "-", "--format", "fasttext", "--eval", "label", "--records", "--json"},
                      "good\n__label__pos __label__neg good\n__label__pos good\n");
  CHECK(bad.code == 1);
  CHECK(has(json_lines(bad.out)[0]["error"], "begins with no __label__"));
  CHECK(has(json_lines(bad.out)[1]["error"], "2 labels, and 1 is the most"));
  CHECK(json_lines(bad.out)[2]["truth"] == "pos");
}

TEST_CASE("labels of fastText's lines are a list for a head that gives several labels") {
  const CliFixture f({.kind = linformer::HeadKind::multi_label});
  const Ran ran = run({"classify", f.model(), "-", "--format", "fasttext", "--eval", "label", "--records", "--json"},
                      "__label__pos __label__neu good\nbad\n");
  CHECK(ran.code == 0);
  CHECK(json_lines(ran.out)[0]["truth"] == json({"neu", "pos"}));
  CHECK(json_lines(ran.out)[1]["truth"] == json::array());
}

TEST_CASE("a plain text file whose first line begins with a label is read as fastText's, and a note says so") {
  const CliFixture f;
  const std::string file = f.file("train.txt", "__label__neg good film\nbad\n");
  const Ran ran = run({"classify", f.model(), "-i", file, file, "--json"});
  CHECK(ran.code == 0);
  CHECK(ran.out == run({"classify", f.model(), "-i", file, file, "--format", "fasttext", "--json"}).out);
  CHECK(lines_of(ran.err).size() == 1);
  CHECK(has(ran.err, "read as fastText's"));
  CHECK(has(ran.err, "--format text"));
  const Ran text = run({"tokenize", f.model(), "-i", file, "--format", "text"});
  CHECK(text.err == "");
  CHECK(json_lines(text.out)[0]["ids"].size() > 4);
  CHECK(run({"classify", f.model(), "-i", f.file("u.txt", "good __label__neg\n__label__neg good\n")}).err == "");
}

TEST_CASE("--eval label takes the labels of a file that is recognised as fastText's without --format") {
  const CliFixture f;
  const std::string file = f.file("train.txt", "__label__pos good film\n__label__pos bad\n__label__NEG bad\n");
  const Ran named = run({"classify", f.model(), "-i", file, "--format", "fasttext", "--eval", "label", "--json"});
  const Ran noticed = run({"classify", f.model(), "-i", file, "--eval", "label", "--json"});
  CHECK(noticed.code == 0);
  CHECK(noticed.out == named.out);
  CHECK(lines_of(noticed.err).size() == 1);
  CHECK(has(noticed.err, "read as fastText's; --format text"));
  const Ran plain = run({"classify", f.model(), "-i", f.file("plain.txt", "good film\n"), "--eval", "label", "--json"});
  CHECK(plain.code == 2);
  CHECK(plain.out == "");
  CHECK(has(plain.err, "is read as text lines; add --format jsonl, csv, tsv or fasttext"));
  CHECK(run({"classify", f.model(), "-i", file, "--eval", "x"}).code == 2);
}

TEST_CASE("fastText's lines have no other fields") {
  const CliFixture f;
  const std::string file = f.file("train.txt", "__label__neg good\n");
  for (const char* option : {"--field", "--pair", "--id"}) {
    const Ran ran = run({"classify", f.model(), "-i", file, "--format", "fasttext", option, "x"});
    CHECK(ran.code == 2);
    CHECK(has(ran.err, "lines of fastText have labels and a text"));
  }
  const Ran named = run({"classify", f.model(), "-i", file, "--format", "fasttext", "--eval", "x"});
  CHECK(named.code == 2);
  CHECK(has(named.err, "give --eval label"));
}

TEST_CASE("--limit answers the first records and ends with success") {
  const CliFixture f({.embedding = true});
  const std::string one = f.file("one.txt", "good\nbad\n"), two = f.file("two.jsonl", "{\"text\":\"good\"}\n{\n"),
                    out = f.path("out.npy"), ids_file = f.file("ids.jsonl", "[2,3]\n[2,5,3]\n[1000000]\n");
  const Ran ran = run({"classify", f.model(), "-i", one, two, "--limit", "3", "--json"});
  CHECK(ran.code == 0);
  CHECK(ids(ran) == std::vector<json>{1, 2, 3});
  CHECK(run({"classify", f.model(), "good", "bad", "--limit", "1", "--json"}).out ==
        run({"classify", f.model(), "good", "--json"}).out);
  CHECK(json_lines(run({"embed", f.model(), "-i", one, two, "--limit", "3", "--json"}).out).size() == 3);
  CHECK(json_lines(run({"tokenize", f.model(), "-i", two, "--limit", "1"}).out).size() == 1);
  CHECK(json_lines(run({"compare", f.model(), f.model(), "-i", one, two, "--limit", "3", "--json"}).out)
            .at(0)["records"] == 3);
  CHECK(run({"encode", f.model(), "--ids", ids_file, "--limit", "2", "--what", "pooled", "-o", out}).code == 0);
  CHECK(run({"encode", f.model(), "--ids", ids_file, "-o", out}).code == 1);
  CHECK(run({"encode", f.model(), "-i", one, two, "--limit", "3", "-o", out}).code == 0);
  CHECK(run({"classify", f.model(), "good", "--limit", "0"}).code == 2);
}

TEST_CASE("--limit waits for no more records than it answers") {
  const CliFixture f;
  Conversation talk({"classify", f.model(), "-", "--limit", "2", "--json"});
  CHECK(talk.write("good\nbad\n"));
  CHECK(has(talk.read_line(), "pos"));
  CHECK(has(talk.read_line(), "neg"));
  CHECK(talk.wait() == 0);  // although the input is still open
}

}  // namespace linformer_test::many_files_test
