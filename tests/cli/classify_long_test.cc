// Tests texts with more tokens than the model takes, and padding.
#include <doctest/doctest.h>

#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::classify_long_test {

using nlohmann::json;

namespace {

// Returns `count` words, of which the first is `first` and the last is `last`.
std::string words(size_t count, const std::string& first, const std::string& last) {
  std::string text = first;
  for (size_t i = 2; i < count; ++i) text += " film";
  return text + " " + last;
}

json classify(const CliFixture& f, const std::string& text, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"classify", f.model(), text, "--json"});
  return json_lines(run(more).out).at(0);
}

}  // namespace

TEST_CASE("--on-long truncate cuts a text at the chosen end and reports it") {
  const CliFixture f;  // the model takes 12 tokens, which are 10 words
  const json whole = classify(f, words(10, "good", "film"));
  CHECK(whole["truncated"] == false);
  CHECK(whole["tokens"] == 12);
  const json head = classify(f, words(11, "good", "bad"));
  CHECK(head["label"] == "pos");
  CHECK(head["truncated"] == true);
  CHECK(head["tokens"] == 12);
  CHECK(head["total_tokens"] == 13);
  CHECK(classify(f, words(11, "good", "bad"), {"--side", "tail"})["label"] == "neg");
  const Ran plain = run({"classify", f.model(), words(11, "good", "bad"), "film"});
  CHECK(plain.code == 0);
  CHECK(lines_of(plain.out)[0].find("\tcut to 12 of 13 tokens") != std::string::npos);
  CHECK(plain.err.find("1 of 2 texts cut to 12 tokens") != std::string::npos);
  const Ran table = run({"classify", f.model(), words(11, "good", "bad"), "--table"});
  CHECK(table.out.find("12 of 13") != std::string::npos);
  // --max-tokens sets a lower limit than the model's.
  CHECK(classify(f, words(5, "good", "bad"), {"--max-tokens", "6"})["truncated"] == true);
}

TEST_CASE("--on-long error makes a long text a bad record") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), words(11, "good", "bad"), "good", "--json", "--on-long", "error"});
  CHECK(ran.code == 1);
  CHECK(json_lines(ran.out)[0]["error"].get<std::string>().find("13 tokens and at most 12") != std::string::npos);
  CHECK(json_lines(ran.out)[1]["label"] == "pos");
}

TEST_CASE("--on-long window gives the mean over windows that cover the whole text") {
  const CliFixture f;
  const std::string text = words(18, "good", "bad");  // windows of 10 words that share 2: [0, 10) and [8, 18)
  const json two = classify(f, text, {"--on-long", "window", "--overlap", "2"});
  CHECK(two["windows"] == 2);
  CHECK(two["truncated"] == false);
  CHECK(two["tokens"] == 20);
  // Each probability is the mean of those that the model gives for the windows alone.
  const json first = classify(f, words(10, "good", "film")), second = classify(f, words(10, "film", "bad"));
  for (const char* label : {"neg", "neu", "pos"}) {
    const auto probability = [&](const json& answer) {
      for (const json& score : answer["scores"]) {
        if (score["label"] == label) return score["probability"].get<double>();
      }
      return -1.0;
    };
    CHECK(probability(two) == doctest::Approx((probability(first) + probability(second)) / 2));
  }
  // 19 words need a third window, which ends at the end of the text.
  CHECK(classify(f, words(19, "good", "bad"), {"--on-long", "window", "--overlap", "2"})["windows"] == 3);
  CHECK(classify(f, words(19, "film", "good"), {"--on-long", "window"})["label"] != "neg");
  // A text with more windows than a batch holds stands between other texts.
  const Ran many = run({"classify", f.model(), "good", words(500, "film", "film"), "bad", "--json", "--on-long",
                        "window", "--batch", "3", "--overlap", "9"});
  const std::vector<json> lines = json_lines(many.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["label"] == "pos");
  CHECK(lines[1]["windows"] == 491);
  CHECK(lines[1]["label"] == "neu");
  CHECK(lines[2]["label"] == "neg");
  // A short text is read without windows.
  CHECK_FALSE(classify(f, "good", {"--on-long", "window"}).contains("windows"));
}

TEST_CASE("padding of --pad-to changes the answer with --padding keep, and is removed with --padding strip") {
  const CliFixture f;
  const json plain = classify(f, "good film"), stripped = classify(f, "good film", {"--pad-to", "12"});
  const json kept = classify(f, "good film", {"--pad-to", "12", "--padding", "keep"});
  CHECK(stripped["probability"] == plain["probability"]);
  CHECK(kept["probability"] != plain["probability"]);
  CHECK(classify(f, "good film", {"--padding", "keep"})["probability"] == plain["probability"]);
}

TEST_CASE("a special token written in a text is that token, or plain text with --literal-special") {
  const CliFixture f;
  CHECK(classify(f, "good [MASK]")["tokens"] == 4);
  CHECK(classify(f, "good [MASK]", {"--literal-special"})["tokens"] == 6);  // three tokens: [ MASK ]
  // A text that consists only of a padding token is answered, as an empty text is.
  CHECK(run({"classify", f.model(), "[PAD]", "", "--json"}).code == 0);
}

TEST_CASE("backends and instruction sets agree") {
  const CliFixture f;
  const double expected = classify(f, "good film")["probability"];
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{{"--isa", "scalar"},
                                                                                     {"--isa", "avx2"},
                                                                                     {"--isa", "avx512"},
                                                                                     {"--backend", "onednn"},
                                                                                     {"--backend", "openblas"}}) {
    std::vector<std::string> arguments = {"classify", f.model(), "good film", "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ran ran = run(arguments);
    if (ran.code != 0) {
      // The machine or the build lacks this backend or instruction set. The program must give an error instead of
      // using another one.
      CHECK(ran.err.rfind("linformer: ", 0) == 0);
      continue;
    }
    CHECK(json_lines(ran.out)[0]["probability"].get<double>() == doctest::Approx(expected).epsilon(1e-5));
  }
}

}  // namespace linformer_test::classify_long_test
