#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/description.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::classify_test {

using nlohmann::json;

namespace {

std::vector<std::string> labels(const Ran& ran) {
  std::vector<std::string> found;
  for (const json& line : json_lines(ran.out)) found.push_back(line.contains("error") ? "ERROR" : line["label"]);
  return found;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("classify: texts on the command line are answered, with scores that sum to 1") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "a good film", "a bad bad film .", "the plot", "--json"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  CHECK(labels(ran) == Labels{"pos", "neg", "neu"});
  const std::vector<json> lines = json_lines(ran.out);
  for (size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i]["id"] == i + 1);
    REQUIRE(lines[i]["scores"].size() == 3);
    CHECK(lines[i]["scores"][0]["label"] == lines[i]["label"]);
    CHECK(lines[i]["scores"][0]["probability"] == lines[i]["probability"]);
    double sum = 0;
    for (const json& score : lines[i]["scores"]) sum += score["probability"].get<double>();
    CHECK(sum == doctest::Approx(1));
    CHECK(lines[i]["truncated"] == false);
    CHECK_FALSE(lines[i].contains("total_tokens"));
    CHECK_FALSE(lines[i].contains("windows"));
  }
  CHECK(lines[0]["tokens"] == 5);
  // The keys and their order are documented.
  CHECK(lines_of(ran.out)[0].rfind("{\"id\":1,\"label\":\"pos\",\"probability\":0.", 0) == 0);
}

TEST_CASE("classify: plain output is tab-separated with a fixed number of columns") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "good", "bad", "--top-k", "2"});
  CHECK(ran.code == 0);
  for (const std::string& line : lines_of(ran.out)) CHECK(std::count(line.begin(), line.end(), '\t') == 5);
  CHECK(ran.out.rfind("1\tpos\t0.", 0) == 0);
  // If --top-k is above the number of labels, all labels are printed.
  const std::string all = run({"classify", f.model(), "good", "--top-k", "50"}).out;
  CHECK(std::count(all.begin(), all.end(), '\t') == 7);
  const Ran none = run({"classify", f.model(), "good", "--threshold", "1"});
  CHECK(none.out == "1\t-\t-\t\n");
  CHECK(json_lines(run({"classify", f.model(), "good", "--threshold", "1", "--json"}).out)[0]["label"].is_null());
}

TEST_CASE("classify: --table aligns its columns and removes control characters") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "a good\x1b[31m film", "bad", "--table", "--top-k", "2"});
  const std::vector<std::string> lines = lines_of(ran.out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].rfind("id", 0) == 0);
  CHECK(lines[0].find("label") == lines[1].find("pos"));
  CHECK(lines[0].find("text") == lines[1].find("a good [31m film"));
  CHECK(lines[3].find("neg") == lines[1].find("pos"));
}

TEST_CASE("classify: files are read in every format, by --format or by the file's ending") {
  const CliFixture f;
  const std::string text = f.file("t.txt", "good\r\nbad\r\n");
  const std::string jsonl = f.file("t.jsonl", "{\"text\":\"good\"}\n\n{\"text\":\"bad\"}");
  const std::string csv = f.file("t.csv", "text,x\n\"good,\ngood\",1\nbad,2\n");
  const std::string tsv = f.file("t.tsv", "x\ttext\n1\tgood \"\n2\tbad\n");
  for (const std::string& file : {text, jsonl, csv, tsv}) {
    CAPTURE(file);
    const Ran ran = run({"classify", f.model(), "-i", file, "--json"});
    CHECK(ran.code == 0);
    CHECK(labels(ran) == Labels{"pos", "neg"});
  }
  CHECK(labels(run({"classify", f.model(), "-i", text, "--input", jsonl, "--json"})) ==
        Labels{"pos", "neg", "pos", "neg"});
  CHECK(labels(run({"classify", f.model(), "-", "--json"}, "good\nbad")) == Labels{"pos", "neg"});
  CHECK(labels(run({"classify", f.model(), "bad", "-", "good", "--json"}, "good\n")) == Labels{"neg", "pos", "pos"});
  CHECK(labels(run({"classify", f.model(), "-i", "-", "--format", "csv", "--field", "y", "--json"}, "x,y\n1,good\n")) ==
        Labels{"pos"});
  CHECK(labels(run({"classify", f.model(), "-i", "-", "--format", "tsv", "--no-header", "--field", "2", "--json"},
                   "1\tgood\n2\tbad\n")) == Labels{"pos", "neg"});
  // --format takes precedence over the file's ending.
  CHECK(labels(run({"classify", f.model(), "-i", csv, "--format", "text", "--json"})).size() == 4);
}

TEST_CASE("classify: a text that names a file is read as a text, and a note says so") {
  const CliFixture f;
  const std::string file = f.file("reviews.txt", "good\n");
  const Ran ran = run({"classify", f.model(), file});
  CHECK(ran.code == 0);
  CHECK(ran.err.find("--input") != std::string::npos);
}

TEST_CASE("classify: ids and pairs are read from the fields that options name") {
  const CliFixture f;
  const std::string file = f.file("p.jsonl",
                                  "{\"key\":\"x\\ty\",\"a\":\"good\",\"b\":\"bad bad\"}\n"
                                  "{\"key\":7,\"a\":\"good\",\"b\":\"film\"}\n");
  const Ran ran = run({"classify", f.model(), "-i", file, "--field", "a", "--pair", "b", "--id", "key", "--json"});
  CHECK(ran.code == 0);
  CHECK(labels(ran) == Labels{"neg", "pos"});
  CHECK(json_lines(ran.out)[0]["id"] == "x\ty");
  CHECK(json_lines(ran.out)[1]["id"] == 7);
  CHECK(json_lines(ran.out)[0]["tokens"] == 6);
  // A tab in an id doesn't make another column.
  const Ran plain = run({"classify", f.model(), "-i", file, "--field", "a", "--pair", "b", "--id", "key"});
  CHECK(plain.out.rfind("x y\tneg\t", 0) == 0);
  // Without the pair the first text alone decides.
  CHECK(labels(run({"classify", f.model(), "-i", file, "--field", "a", "--json"})) == Labels{"pos", "pos"});
}

TEST_CASE("classify: --head takes a name or an index, and labels without names are printed as indices") {
  const CliFixture f;
  for (const char* head : {"topic", "1"}) {
    const json line = json_lines(run({"classify", f.model(), "good", "--head", head, "--json"}).out).at(0);
    CHECK(line["label"] == "2");
    CHECK(line["scores"].size() == 4);
  }
  const Ran wrong = run({"classify", f.model(), "good", "--head", "absent"});
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("sentiment, topic") != std::string::npos);
}

TEST_CASE("classify: a multi-label head gives all labels at or above the threshold") {
  const CliFixture f({.kind = linformer::HeadKind::multi_label});
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--threshold", "0.5"}}) {
    std::vector<std::string> arguments = {"classify", f.model(), "good good", "bad", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const json line = json_lines(run(arguments).out).at(0);
    CHECK(line["label"] == "pos");
    REQUIRE(line["scores"].size() == 2);  // neu has sigmoid(0.05)
    CHECK(line["scores"][1]["label"] == "neu");
    CHECK(line["scores"][1]["probability"].get<double>() == doctest::Approx(1 / (1 + std::exp(-0.05))));
  }
  // Text output has a line for each label, with the same columns.
  const auto lines = lines_of(run({"classify", f.model(), "good good", "bad"}).out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].rfind("1\tpos\t0.", 0) == 0);
  CHECK(lines[1] == "1\tneu\t0.512497\t");
  CHECK(lines[2].rfind("2\tneg\t0.", 0) == 0);
  CHECK(lines[3] == "2\tneu\t0.512497\t");
  CHECK(lines_of(run({"classify", f.model(), "good", "--threshold", "0"}).out).size() == 3);
  CHECK(lines_of(run({"classify", f.model(), "good", "--top-k", "1"}).out).size() == 1);
  CHECK(run({"classify", f.model(), "the", "--threshold", "1"}).out == "1\t-\t-\t\n");
  const auto table = lines_of(run({"classify", f.model(), "good", "bad", "--table"}).out);
  REQUIRE(table.size() == 5);
  CHECK(table[1].find("pos") == table[2].find("neu"));
  CHECK(table[0].find("probability") != std::string::npos);
}

TEST_CASE("classify: a bad record is answered in its place, and the exit code is 1") {
  const CliFixture f;
  const std::string file = f.file("bad.jsonl", "{\"text\":\"good\"}\nnonsense\n{\"text\":\"bad\"}\n{\"text\":3}\n");
  const Ran ran = run({"classify", f.model(), "-i", file, "--json"});
  CHECK(ran.code == 1);
  CHECK(labels(ran) == Labels{"pos", "ERROR", "neg", "ERROR"});
  const json error = json_lines(ran.out)[1];
  CHECK(error["id"] == 2);
  CHECK(error["error"].get<std::string>().find("bad.jsonl:2: not JSON") != std::string::npos);
  CHECK(ran.err == "linformer: 2 of 4 records bad\n");

  const Ran plain = run({"classify", f.model(), "-i", file});
  CHECK(plain.code == 1);
  CHECK(lines_of(plain.out)[1].rfind("2\tERROR\t\t", 0) == 0);
  CHECK(lines_of(plain.out)[2].rfind("3\tneg\t", 0) == 0);

  const Ran fast = run({"classify", f.model(), "-i", file, "--json", "--fail-fast"});
  CHECK(fast.code == 1);
  CHECK(labels(fast) == Labels{"pos", "ERROR"});
}

TEST_CASE("classify: answers don't depend on the batch size or the number of threads") {
  const CliFixture f;
  std::string input;
  const char* words[] = {"good", "bad", "film", "a", "the", ".", "unknownword"};
  uint32_t state = 1;
  for (int i = 0; i < 200; ++i) {
    for (uint32_t n = state % 14; n > 0; --n) {
      state = state * 1664525 + 1013904223;
      input += std::string(words[(state >> 16) % 7]) + " ";
    }
    state = state * 1664525 + 1013904223;
    input += "\n";
  }
  const std::string file = f.file("many.txt", input);
  const std::string reference =
      run({"classify", f.model(), "-i", file, "--json", "--batch", "1", "--threads", "1"}).out;
  CHECK(lines_of(reference).size() == 200);
  for (const char* batch : {"2", "7", "64"}) {
    for (const char* threads : {"1", "2", "4"}) {
      CAPTURE(batch);
      CHECK(run({"classify", f.model(), "-i", file, "--json", "--batch", batch, "--threads", threads}).out ==
            reference);
    }
  }
  CHECK(run({"classify", f.model(), "-i", file, "--json"}).out == reference);
}

TEST_CASE("classify: --eval gives the numbers of a case worked by hand") {
  const CliFixture f;
  // Of the three records with the label pos, two are right and one is taken for neg. The record with the label neg,
  // given by its index, is right. The record with the label neu is taken for pos. One label is unknown, and one line is
  // broken.
  const std::string file = f.file("e.jsonl",
                                  "{\"text\":\"good\",\"y\":\"pos\"}\n{\"text\":\"good film\",\"y\":\"pos\"}\n"
                                  "{\"text\":\"bad\",\"y\":\"pos\"}\n{\"text\":\"bad\",\"y\":0}\n"
                                  "{\"text\":\"good\",\"y\":\"neu\"}\n{\"text\":\"good\",\"y\":\"what\"}\nbroken\n");
  const Ran ran = run({"classify", f.model(), "-i", file, "--eval", "y", "--json"});
  CHECK(ran.code == 1);
  REQUIRE(lines_of(ran.out).size() == 1);
  const json evaluation = json_lines(ran.out)[0]["evaluation"];
  CHECK(evaluation["records"] == 5);
  CHECK(evaluation["errors"] == 2);
  CHECK(evaluation["accuracy"].get<double>() == doctest::Approx(0.6));
  CHECK(evaluation["confusion"] == json::parse("[[1,0,0],[0,0,1],[1,0,2]]"));
  CHECK(evaluation["labels"][0]["precision"].get<double>() == doctest::Approx(0.5));
  CHECK(evaluation["labels"][0]["recall"].get<double>() == doctest::Approx(1));
  CHECK(evaluation["labels"][2]["f1"].get<double>() == doctest::Approx(2.0 / 3));
  CHECK(ran.err.find("label 'what' is not one of this model's labels: neg, neu, pos; or an index from 0 to 2") !=
        std::string::npos);
  // Labels are also found in another case, and by the names LABEL_i that transformers gives to classes.
  const std::string twins = f.file("c.jsonl",
                                   "{\"text\":\"good\",\"y\":\"POS\"}\n{\"text\":\"good film\",\"y\":\"LABEL_2\"}\n"
                                   "{\"text\":\"bad\",\"y\":\"Pos\"}\n{\"text\":\"bad\",\"y\":\"0\"}\n"
                                   "{\"text\":\"good\",\"y\":\"Neu\"}\n");
  const Ran same = run({"classify", f.model(), "-i", twins, "--eval", "y", "--json"});
  CHECK(same.code == 0);
  CHECK(json_lines(same.out).at(0)["evaluation"]["confusion"] == evaluation["confusion"]);

  const Ran text = run({"classify", f.model(), "-i", file, "--eval", "y"});
  CHECK(text.out.find("accuracy  0.6000  (3 right)") != std::string::npos);
  CHECK(text.out.find("pos     1    0    2") != std::string::npos);
  const Ran both = run({"classify", f.model(), "-i", file, "--eval", "y", "--json", "--records"});
  CHECK(lines_of(both.out).size() == 8);
  CHECK(json_lines(both.out)[2]["truth"] == "pos");
  CHECK(run({"classify", f.model(), "-i", file, "--eval", "y", "--fail-fast"}).code == 1);
  CHECK(run({"classify", f.model(), "good", "--eval", "y"}).code == 2);
  CHECK(run({"classify", f.model(), "good", "--records"}).code == 2);
}

TEST_CASE("classify: --logits writes a row for each record") {
  const CliFixture f;
  const std::string file = f.file("in.jsonl", "{\"text\":\"good\"}\nbroken\n{\"text\":\"bad\"}\n");
  const Ran ran = run({"classify", f.model(), "-i", file, "--json", "--logits", f.path("l.npy")});
  CHECK(ran.code == 1);
  std::ifstream stream(f.path("l.npy"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  CHECK(bytes.find("'shape': (3, 3)") != std::string::npos);
  REQUIRE(bytes.size() == 128 + 9 * 4);
  float logits[9];
  std::memcpy(logits, bytes.data() + 128, sizeof logits);
  CHECK(logits[0] == doctest::Approx(-logits[2]));
  CHECK(logits[2] > 0);
  CHECK(logits[1] == doctest::Approx(0.05));
  CHECK(std::isnan(logits[4]));
  CHECK(logits[6] > 0);
  CHECK(f.entry_count() == 3);
  CHECK(run({"classify", f.model(), "good", "--logits", "-"}).code == 2);
  CHECK(run({"classify", f.model(), "good", "--logits", f.path("no/such/l.npy")}).code == 1);
}

TEST_CASE("classify: usage errors are one line with exit code 2, and data errors are one line with exit code 1") {
  const CliFixture f;
  const CliFixture bare({.tokenizer = false}), headless({.heads = false});
  const std::vector<std::vector<std::string>> usage = {{},
                                                       {"unknown"},
                                                       {"classify"},
                                                       {"classify", f.model()},
                                                       {"classify", f.model(), "x", "--batch", "0"},
                                                       {"classify", f.model(), "x", "--threads", "999"},
                                                       {"classify", f.model(), "x", "--backend", "cuda"},
                                                       {"classify", f.model(), "x", "--isa", "sse"},
                                                       {"classify", f.model(), "x", "--device", "gpu"},
                                                       {"classify", f.model(), "x", "--device", "cuda:"},
                                                       {"classify", f.model(), "x", "--device", "cuda:-1"},
                                                       {"classify", f.model(), "x", "--device", "cuda:0x"},
                                                       {"classify", f.model(), "x", "--top-k", "0"},
                                                       {"classify", f.model(), "x", "--threshold", "2"},
                                                       {"classify", f.model(), "x", "--on-long", "panic"},
                                                       {"classify", f.model(), "x", "--max-tokens", "13"},
                                                       {"classify", f.model(), "x", "--max-tokens", "2"},
                                                       {"classify", f.model(), "x", "--pad-to", "13"},
                                                       {"classify", f.model(), "x", "--json", "--table"},
                                                       {"classify", f.model(), "x", "--overlap", "10"},
                                                       {"classify", f.model(), "x", "--pair", "p"},
                                                       {"classify", f.model(), "-i", "x.txt", "--id", "p"},
                                                       {"classify", f.model(), "-i", "-", "--id", "p"},
                                                       {"classify", f.model(), "x", "--no-such-flag"}};
  for (const auto& arguments : usage) {
    CAPTURE(json(arguments).dump());
    const Ran ran = run(arguments);
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.rfind("linformer: ", 0) == 0);
  }
  const std::vector<std::vector<std::string>> data = {{"classify", f.path("absent.lnfr"), "x"},
                                                      {"classify", f.file("junk.lnfr", "junk"), "x"},
                                                      {"classify", f.model(), "-i", f.path("absent")},
                                                      {"classify", f.model(), "-i", f.path("")},
                                                      {"classify", bare.model(), "x"},
                                                      {"classify", headless.model(), "x"},
                                                      {"classify", f.model(), "-i", f.file("no.csv", "a,b\n1,2\n")}};
  for (const auto& arguments : data) {
    CAPTURE(json(arguments).dump());
    const Ran ran = run(arguments);
    CHECK(ran.code == 1);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.rfind("linformer: ", 0) == 0);
  }
  for (const char* command : {"classify", "encode", "tokenize", "inspect"}) {
    const Ran help = run({command, "--help"});
    CHECK(help.code == 0);
    CHECK(help.out.find("Examples:") != std::string::npos);
  }
  CHECK(run({"--help"}).code == 0);
  CHECK(run({"--version"}).out.rfind("linformer ", 0) == 0);
}

}  // namespace linformer_test::classify_test
