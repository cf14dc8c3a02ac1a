// Tests pairs of texts with token types, several heads in one run, and heads that compare two texts or score each
// token.
#include <doctest/doctest.h>

#include "arrays.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::heads_test {

using nlohmann::json;

namespace {

json first_answer(const std::vector<std::string>& arguments) {
  const Ran ran = run(arguments);
  CHECK(ran.code == 0);
  const std::vector<json> lines = json_lines(ran.out);
  return lines.empty() ? json() : lines[0];
}

}  // namespace

TEST_CASE("pairs: token types reach the model, from the command line and from files") {
  const CliFixture plain, typed({.token_types = true});
  const std::vector<std::string> pair = {"film", "--pair-text", "bad", "--json"};
  const auto classify = [&](const CliFixture& f, std::vector<std::string> rest) {
    rest.insert(rest.begin(), {"classify", f.model()});
    return first_answer(rest);
  };
  CHECK(classify(plain, pair)["label"] == "neg");
  CHECK(classify(typed, pair)["label"] == "pos");  // the second text's tokens have type 1
  CHECK(classify(typed, {"film bad", "--json"})["label"] == "neg");
  const std::string file = typed.file("p.jsonl", "{\"a\":\"film\",\"b\":\"bad\"}\n");
  CHECK(classify(typed, {"-i", file, "--field", "a", "--pair", "b", "--json"})["scores"] ==
        classify(typed, pair)["scores"]);
  // --pad-to also pads the token types.
  CHECK(classify(typed, {"film", "--pair-text", "bad", "--json", "--pad-to", "9"})["scores"] ==
        classify(typed, pair)["scores"]);

  const auto encode = [&](const CliFixture& f, std::vector<std::string> rest) {
    rest.insert(rest.begin(), {"encode", f.model(), "-o", "-"});
    const Ran ran = run(rest);
    CHECK(ran.code == 0);
    return parse_float_npy(ran.out);
  };
  const FloatArray with = encode(typed, {"film", "--pair-text", "bad", "--what", "hidden:0"});
  const FloatArray without = encode(plain, {"film", "--pair-text", "bad", "--what", "hidden:0"});
  CHECK(with.shape == Shape{1, 5, 16});
  for (size_t row = 0; row < 5; ++row) {
    CHECK(with.row(row)[0] == without.row(row)[0] + (row < 3 ? 0.f : 2.f));
  }
  CHECK(encode(typed, {"-i", file, "--field", "a", "--pair", "b", "--what", "hidden:0"}).values == with.values);
}

TEST_CASE("pairs: --pair-text is given once for each text, and not with files") {
  const CliFixture f;
  CHECK(run({"classify", f.model(), "a", "b", "--pair-text", "c"}).code == 2);
  CHECK(run({"classify", f.model(), "-", "--pair-text", "c"}).code == 2);
  CHECK(run({"classify", f.model(), "-i", f.file("t", "a\n"), "--pair-text", "c"}).code == 2);
  CHECK(run({"classify", f.model(), "a", "b", "--pair-text", "c", "--pair-text", "d"}).code == 0);
}

TEST_CASE("heads: several heads in one run give the answers that each gives alone") {
  const CliFixture f;
  const std::string file = f.file("t.txt", "good film\nbad\n");
  const auto run_heads = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"classify", f.model(), "-i", file, "--json"});
    const Ran ran = run(more);
    CHECK(ran.code == 0);
    return json_lines(ran.out);
  };
  const auto both = run_heads({"--head", "topic,sentiment"}), all = run_heads({"--all-heads"});
  const auto sentiment = run_heads({}), topic = run_heads({"--head", "topic"});
  REQUIRE(both.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    REQUIRE(both[i]["heads"].size() == 2);
    CHECK_FALSE(both[i].contains("label"));
    CHECK(both[i]["heads"][0]["head"] == "topic");
    CHECK(both[i]["heads"][1]["head"] == "sentiment");
    for (const char* key : {"label", "probability", "scores"}) {
      CHECK(both[i]["heads"][0][key] == topic[i][key]);
      CHECK(both[i]["heads"][1][key] == sentiment[i][key]);
      CHECK(all[i]["heads"][0][key] == sentiment[i][key]);
    }
    CHECK(both[i]["tokens"] == sentiment[i]["tokens"]);
  }
  const auto tsv = lines_of(run({"classify", f.model(), "-i", file, "--all-heads"}).out);
  REQUIRE(tsv.size() == 4);
  CHECK(tsv[0].rfind("1\tsentiment\tpos\t", 0) == 0);
  CHECK(tsv[3].rfind("2\ttopic\t2\t", 0) == 0);
  const auto table = lines_of(run({"classify", f.model(), "-i", file, "--all-heads", "--table"}).out);
  REQUIRE(table.size() == 5);
  CHECK(table[0].find("head") == table[1].find("sentiment"));
  CHECK(table[0].find("label") == table[1].find("pos"));

  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--head", "topic,topic"},
                                                {"--head", "topic,"},
                                                {"--head", "topic,none"},
                                                {"--head", "topic", "--all-heads"},
                                                {"--all-heads", "--logits", f.path("l.npy")}}) {
    std::vector<std::string> arguments = {"classify", f.model(), "-i", file};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    CAPTURE(wrong[1]);
    const Ran ran = run(arguments);
    CHECK(ran.code == 2);
    CHECK(lines_of(ran.err).size() == 1);
  }
}

TEST_CASE("heads: a head that compares two texts gets them as two sequences") {
  const CliFixture f({.more_heads = true});
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += i % 3 == 0 ? "{\"a\":\"good film\",\"b\":\"a bad film\"}\n" : "{\"a\":\"the\",\"b\":\"good good\"}\n";
  }
  const std::string file = f.file("p.jsonl", lines);
  const auto compare = [&](const std::string& batch) {
    const Ran ran = run({"classify", f.model(), "-i", file, "--field", "a", "--pair", "b", "--head", "better", "--json",
                         "--batch", batch});
    CHECK(ran.code == 0);
    return ran.out;
  };
  const std::string expected = compare("16");
  const auto answers = json_lines(expected);
  REQUIRE(answers.size() == 40);
  for (int i = 0; i < 40; ++i) CHECK(answers[static_cast<size_t>(i)]["label"] == (i % 3 == 0 ? "first" : "second"));
  for (const char* batch : {"1", "2", "3", "5"}) CHECK(compare(batch) == expected);

  // encode saves the same logits, from records and from lines of ids, two lines for each pair.
  const Ran saved = run({"classify", f.model(), "good film", "--pair-text", "a bad film", "--head", "better",
                         "--logits", f.path("c.npy")});
  CHECK(saved.code == 0);
  const FloatArray classified = parse_float_npy(read_file(f.path("c.npy")));
  const Ran texts =
      run({"encode", f.model(), "good film", "--pair-text", "a bad film", "--what", "logits:better", "-o", "-"});
  CHECK(parse_float_npy(texts.out).shape == Shape{1, 2});
  CHECK(parse_float_npy(texts.out).values == classified.values);
  const Ran ids = run({"encode", f.model(), "--ids", f.file("i.jsonl", "[2,5,7,3]\n[2,8,6,7,3]\n"), "--batch", "1",
                       "--what", "logits:better", "-o", "-"});
  CHECK(parse_float_npy(ids.out).values == classified.values);

  const Ran alone = run({"classify", f.model(), "good", "--head", "better", "--json"});
  CHECK(alone.code == 1);
  CHECK(json_lines(alone.out).at(0)["error"].get<std::string>().find("--pair") != std::string::npos);
  CHECK(run({"classify", f.model(), "good", "--all-heads"}).code == 2);
  CHECK(run({"classify", f.model(), "good", "--head", "better,topic"}).code == 2);
  const Ran odd =
      run({"encode", f.model(), "--ids", f.file("o.jsonl", "[2,5,3]\n"), "--what", "logits:better", "-o", "-"});
  CHECK(odd.code == 1);
  CHECK(odd.err.find("compares two texts") != std::string::npos);
}

TEST_CASE("heads: encode saves the scores of a head that scores each token") {
  const CliFixture f({.more_heads = true});
  const std::string ids = f.file("i.jsonl", "[2,5,7,3]\n[2,8,3]\n");
  const FloatArray scores =
      parse_float_npy(run({"encode", f.model(), "--ids", ids, "--what", "logits:words", "-o", "-"}).out);
  const FloatArray hidden = parse_float_npy(run({"encode", f.model(), "--ids", ids, "-o", "-"}).out);
  CHECK(scores.shape == Shape{2, 4, 2});
  for (size_t row = 0; row < 7; ++row) {
    double sum = 0;
    for (const float value : hidden.row(row)) sum += static_cast<double>(value);
    for (const float score : scores.row(row)) CHECK(score == doctest::Approx(0.5 * sum).epsilon(1e-5));
  }
  CHECK(scores.row(7) == std::vector<float>{0, 0});
  const Ran refused = run({"classify", f.model(), "good", "--head", "words"});
  CHECK(refused.code == 2);
  CHECK(refused.err.find("encode --what logits:words") != std::string::npos);
}

}  // namespace linformer_test::heads_test
