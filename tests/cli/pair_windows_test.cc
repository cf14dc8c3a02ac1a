// Tests pairs with more tokens than the model takes. One text is read in windows, and each window contains all of the
// other text.
#include <doctest/doctest.h>

#include "arrays.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::pair_windows_test {

using nlohmann::json;

namespace {

std::vector<std::string> film_words(size_t count, const std::string& first, const std::string& last) {
  std::vector<std::string> words(count, "film");
  words.front() = first;
  words.back() = last;
  return words;
}

// Returns the words [begin, end), joined with spaces. An `end` past the last word means all words from `begin`.
std::string joined(const std::vector<std::string>& words, size_t begin = 0, size_t end = 1 << 20) {
  std::string text;
  for (size_t i = begin; i < std::min(end, words.size()); ++i) text += (i == begin ? "" : " ") + words[i];
  return text;
}

json classify(const CliFixture& f, const std::string& text, const std::string& pair,
              std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"classify", f.model(), text, "--pair-text", pair, "--json"});
  const Ran ran = run(more);
  const std::vector<json> lines = json_lines(ran.out);
  CHECK_MESSAGE(lines.size() == 1, ran.err);
  return lines.empty() ? json::object() : lines[0];
}

double probability(const json& answer, const std::string& label) {
  for (const json& score : answer["scores"]) {
    if (score["label"] == label) return score["probability"].get<double>();
  }
  return -1;
}

// Checks that `whole` is the mean of `parts`, the answers that the model gives for each window alone.
void check_mean(const json& whole, const std::vector<json>& parts) {
  CHECK(whole["windows"] == parts.size());
  CHECK(whole["truncated"] == false);
  CHECK_FALSE(whole.contains("total_tokens"));
  for (const char* label : {"neg", "neu", "pos"}) {
    double sum = 0;
    for (const json& part : parts) {
      CHECK_FALSE(part.contains("windows"));
      CHECK(part["truncated"] == false);
      sum += probability(part, label);
    }
    CHECK(probability(whole, label) == doctest::Approx(sum / static_cast<double>(parts.size())).epsilon(1e-6));
  }
}

const std::vector<std::string> window = {"--on-long", "window"};

std::vector<std::string> windows_and(std::vector<std::string> more) {
  more.insert(more.begin(), window.begin(), window.end());
  return more;
}

}  // namespace

// The model takes 12 tokens, of which [CLS] a [SEP] b [SEP] uses 3 for special tokens. Token types show to which text a
// word belongs.
TEST_CASE("pairs in windows: the longer text is split into windows, and each window has all of the other text") {
  const CliFixture f({.token_types = true});
  const auto context = film_words(18, "good", "bad");
  // "bad" leaves 8 tokens for the context: [0, 8), [6, 14) and [10, 18). The last window ends with the text.
  const json second = classify(f, "bad", joined(context), windows_and({"--overlap", "2"}));
  CHECK(second["tokens"] == 22);
  check_mean(second, {classify(f, "bad", joined(context, 0, 8)), classify(f, "bad", joined(context, 6, 14)),
                      classify(f, "bad", joined(context, 10))});
  // Here the longer text is the first one, and 7 tokens are left for it: [0, 7), [7, 14) and [11, 18).
  const json first = classify(f, joined(context), "a bad", windows_and({"--overlap", "0"}));
  check_mean(first, {classify(f, joined(context, 0, 7), "a bad"), classify(f, joined(context, 7, 14), "a bad"),
                     classify(f, joined(context, 11), "a bad")});
  // Without --overlap, windows share a quarter of their 7 tokens, rounded down: [0, 7), [6, 13), [11, 18).
  check_mean(classify(f, joined(context), "a bad", window),
             {classify(f, joined(context, 0, 7), "a bad"), classify(f, joined(context, 6, 13), "a bad"),
              classify(f, joined(context, 11), "a bad")});
  // Of two texts of equal length the second is split: [0, 3), [2, 5) and [3, 6) beside the 6 tokens of the first.
  const auto a = film_words(6, "good", "plot"), b = film_words(6, "bad", "the");
  check_mean(classify(f, joined(a), joined(b), windows_and({"--overlap", "1"})),
             {classify(f, joined(a), joined(b, 0, 3)), classify(f, joined(a), joined(b, 2, 5)),
              classify(f, joined(a), joined(b, 3))});
  // Pairs that fit are not split, and single texts are split as usual.
  CHECK_FALSE(classify(f, "good", joined(context, 0, 8), window).contains("windows"));
  const Ran single = run({"classify", f.model(), joined(context), "--json", "--on-long", "window"});
  CHECK(json_lines(single.out).at(0)["windows"] == 2);
}

TEST_CASE("pairs: --truncation says which text is read in windows or cut") {
  const CliFixture f({.token_types = true});
  const auto a = film_words(6, "good", "bad"), b = film_words(8, "bad", "the");
  // The 6 tokens of the first text leave 3 for the second: [0, 3), [3, 6), [5, 8). The 8 tokens of the second text
  // leave 1 for the first.
  const std::vector<json> beside_first = {classify(f, joined(a), joined(b, 0, 3)),
                                          classify(f, joined(a), joined(b, 3, 6)),
                                          classify(f, joined(a), joined(b, 5))};
  const auto how = [&](const std::string& strategy) {
    return windows_and({"--overlap", "0", "--truncation", strategy});
  };
  check_mean(classify(f, joined(a), joined(b), how("only_second")), beside_first);
  check_mean(classify(f, joined(a), joined(b), how("longest_first")), beside_first);
  std::vector<json> beside_second;
  for (size_t i = 0; i < 6; ++i) beside_second.push_back(classify(f, joined(a, i, i + 1), joined(b)));
  check_mean(classify(f, joined(a), joined(b), how("only_first")), beside_second);

  // --truncation takes the same names as in `tokenize`. 9 tokens remain for the two texts.
  const auto cut = [&](const std::string& strategy) {
    const json answer = classify(f, joined(a), joined(b), {"--truncation", strategy});
    CHECK(answer["tokens"] == 12);
    CHECK(answer["total_tokens"] == 17);
    return answer["scores"];
  };
  CHECK(cut("longest_first") == classify(f, joined(a), joined(b))["scores"]);
  CHECK(cut("only_first") == classify(f, joined(a, 0, 1), joined(b))["scores"]);
  CHECK(cut("only_second") == classify(f, joined(a), joined(b, 0, 3))["scores"]);
  CHECK(cut("longest_first") != cut("only_second"));
  // --truncation only_second has no effect on a single text.
  const Ran single =
      run({"classify", f.model(), joined(film_words(30, "good", "bad")), "--json", "--truncation", "only_second"});
  CHECK(json_lines(single.out).at(0)["tokens"] == 12);
  CHECK(run({"classify", f.model(), "good", "--truncation", "some"}).code == 2);
}

TEST_CASE("pairs in windows: a text that leaves no room for the other is a bad record, whose error says what to do") {
  const CliFixture f;
  const auto error = [&](size_t first, size_t second, std::vector<std::string> more) {
    const json answer = classify(f, joined(film_words(first, "good", "bad")), joined(film_words(second, "bad", "the")),
                                 windows_and(std::move(more)));
    return answer.value("error", "");
  };
  const std::string no_room = error(9, 20, {});
  CHECK_MESSAGE(no_room.find("first text has 9 tokens") != std::string::npos, no_room);
  CHECK(no_room.find("--on-long truncate") != std::string::npos);
  CHECK(error(8, 20, {}).empty());
  CHECK(error(20, 9, {}).find("second text has 9 tokens") != std::string::npos);
  // With --truncation only_first each window must contain all of the second text, which is too long. With only_second
  // each window would contain all of the first text, which is short enough.
  const std::string chosen = error(2, 20, {"--truncation", "only_first"});
  CHECK_MESSAGE(chosen.find("--truncation") != std::string::npos, chosen);
  const std::string overlap = error(4, 20, {"--overlap", "5"});  // 5 tokens are left for the second text
  CHECK_MESSAGE(overlap.find("--overlap") != std::string::npos, overlap);
  CHECK(error(4, 20, {"--overlap", "4"}).empty());
  // The errors are whole sentences and name options of the command line.
  CHECK(no_room ==
        "the first text has 9 tokens, which leave no room for the second in a window of 12; use --on-long truncate");
  CHECK(
      chosen ==
      "the second text has 20 tokens, which leave no room for the first in a window of 12: choose the other text with "
      "--truncation; use --on-long truncate");
  CHECK(overlap ==
        "the first text has 4 tokens, which leave 5 for the second in a window of 12: lower --overlap to less than "
        "that; use --on-long truncate");
  // Good records beside a bad one are answered, in tab-separated lines too.
  const std::string file =
      f.file("p.tsv", "a\tb\ngood\tfilm\n" + joined(film_words(9, "a", "a")) + "\t" + joined(film_words(20, "a", "a")) +
                          "\nbad\t" + joined(film_words(20, "bad", "bad")) + "\n");
  const Ran ran =
      run({"classify", f.model(), "-i", file, "--field", "a", "--pair", "b", "--on-long", "window", "--batch", "2"});
  CHECK(ran.code == 1);
  const auto lines = lines_of(ran.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].rfind("1\tpos\t", 0) == 0);
  CHECK(lines[1].rfind("2\tERROR\t", 0) == 0);
  CHECK(lines[2].rfind("3\tneg\t", 0) == 0);
  CHECK(lines[2].find("\t24 tokens in 3 windows") != std::string::npos);
}

TEST_CASE("pairs in windows: logits are means for any batch, and heads that compare two texts take only whole texts") {
  const CliFixture f({.more_heads = true});
  std::string records;
  for (int i = 0; i < 12; ++i) {
    records += json{{"text", i % 3 == 0 ? "good" : "bad film"},
                    {"pair", joined(film_words(static_cast<size_t>(1 + 7 * i), i % 2 ? "good" : "bad", "good"))}}
                   .dump() +
               "\n";
  }
  const std::string file = f.file("p.jsonl", records);
  const auto logits = [&](const std::string& batch) {
    const Ran ran = run({"classify", f.model(), "-i", file, "--pair", "pair", "--on-long", "window", "--json",
                         "--logits", f.path("l.npy"), "--batch", batch, "--threads", "2"});
    CHECK(ran.code == 0);
    return std::pair(ran.out, parse_float_npy(read_file(f.path("l.npy"))).values);
  };
  const auto expected = logits("1");
  CHECK(json_lines(expected.first).at(11)["windows"] == 13);  // 78 tokens in windows of 7 that share 1
  for (const char* batch : {"2", "3", "16"}) CHECK(logits(batch) == expected);
  // The logits are the mean over the windows. The third record has the windows [0, 7), [6, 13) and [8, 15).
  const auto context = film_words(15, "bad", "good");
  std::vector<double> mean(3);
  for (const std::string& part : {joined(context, 0, 7), joined(context, 6, 13), joined(context, 8)}) {
    CHECK(run({"classify", f.model(), "bad film", "--pair-text", part, "--logits", f.path("w.npy")}).code == 0);
    const FloatArray one = parse_float_npy(read_file(f.path("w.npy")));
    for (size_t c = 0; c < 3; ++c) mean[c] += static_cast<double>(one.values[c]) / 3;
  }
  for (size_t c = 0; c < 3; ++c) CHECK(expected.second[2 * 3 + c] == doctest::Approx(mean[c]).epsilon(1e-5));

  const Ran apart =
      run({"classify", f.model(), "-i", file, "--pair", "pair", "--head", "better", "--on-long", "window", "--json"});
  CHECK(apart.code == 1);
  const std::string error = json_lines(apart.out).at(11)["error"];
  CHECK_MESSAGE(error.find("compares two texts") != std::string::npos, error);
  CHECK_FALSE(json_lines(apart.out).at(0).contains("error"));
}

TEST_CASE("pairs in windows: embed gives the mean over the windows, and perplexity counts each token once") {
  const CliFixture f({.embedding = true});
  const auto context = film_words(18, "good", "bad");
  const auto embed = [&](const std::string& pair, std::vector<std::string> more) {
    more.insert(more.begin(), {"embed", f.model(), "a bad", "--pair-text", pair, "--no-normalize", "--json"});
    return json_lines(run(more).out).at(0);
  };
  const json whole = embed(joined(context), windows_and({"--overlap", "0"}));
  CHECK(whole["windows"] == 3);
  const json parts[] = {embed(joined(context, 0, 7), {}), embed(joined(context, 7, 14), {}),
                        embed(joined(context, 11), {})};
  for (size_t i = 0; i < 16; ++i) {
    double mean = 0;
    for (const json& part : parts) mean += part["embedding"][i].get<double>() / 3;
    CHECK(whole["embedding"][i].get<double>() == doctest::Approx(mean).epsilon(1e-5));
  }
  const std::string file = f.file("p.jsonl", json{{"text", "a bad"}, {"pair", joined(context)}}.dump() + "\n" +
                                                 json{{"text", joined(context)}, {"pair", "a bad"}}.dump() + "\n");
  for (const char* overlap : {"0", "3", "6"}) {
    const Ran ran = run({"perplexity", f.model(), "-i", file, "--pair", "pair", "--mode", "pseudo", "--json",
                         "--on-long", "window", "--overlap", overlap});
    CHECK(ran.code == 0);
    CHECK(json::parse(ran.out)["pseudo"]["tokens"] == 40);
  }
}

}  // namespace linformer_test::pair_windows_test
