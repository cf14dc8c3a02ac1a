#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "arrays.h"
#include "base/description.h"
#include "evaluation/masking.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::perplexity_test {

using nlohmann::json;

namespace {

struct Expected {
  double loss = 0;
  int tokens = 0, right = 0;
};

// Adds one token to the sum. Row `row` of `logits` are the logits at the token's position, and `truth` is its true id.
void add(const FloatArray& logits, size_t row, int64_t truth, Expected* sum) {
  const std::vector<float> values = logits.row(row);
  double total = 0;
  size_t best = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    total += std::exp(static_cast<double>(values[i]));
    if (values[i] > values[best]) best = i;
  }
  sum->loss += std::log(total) - static_cast<double>(values[static_cast<size_t>(truth)]);
  sum->right += static_cast<int64_t>(best) == truth ? 1 : 0;
  ++sum->tokens;
}

void check_equal(const json& ours, const Expected& expected) {
  REQUIRE(expected.tokens > 0);
  CHECK(ours["tokens"] == expected.tokens);
  CHECK(ours["loss"].get<double>() == doctest::Approx(expected.loss / expected.tokens).epsilon(1e-6));
  CHECK(ours["perplexity"].get<double>() == doctest::Approx(std::exp(expected.loss / expected.tokens)).epsilon(1e-6));
  CHECK(ours["accuracy"].get<double>() == doctest::Approx(static_cast<double>(expected.right) / expected.tokens));
}

FloatArray logits_of(const CliFixture& f, const std::vector<std::vector<int64_t>>& rows) {
  std::string lines;
  for (const auto& row : rows) lines += json(row).dump() + "\n";
  return parse_float_npy(
      run({"encode", f.model(), "--ids", f.file("rows.jsonl", lines), "--what", "mlm", "-o", "-"}).out);
}

std::string many_lines() {
  const char* words[] = {"good", "bad", "film", "a", "the", ".", "plot", ","};
  std::string text;
  uint32_t state = 5;
  for (int i = 0; i < 60; ++i) {
    state = state * 1664525 + 1013904223;
    const uint32_t length = 1 + (state >> 20) % 10;
    for (uint32_t n = 0; n < length; ++n) {
      state = state * 1664525 + 1013904223;
      text += std::string(words[(state >> 16) % 8]) + " ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("masking: random numbers are SplitMix64's, and tokens are chosen and replaced at the documented rates") {
  using namespace linformer::cli;
  // These are the first outputs of SplitMix64 from the seeds 0 and 1234567, as its public descriptions list them.
  CHECK(mix(0) == 0xE220A8397B1DCDAFu);
  CHECK(mix(1234567) == 6457827717110365317u);
  MaskRule rule;
  rule.mask_id = 4;
  rule.pad_id = 0;
  rule.vocabulary = 50;
  std::map<int32_t, int> counts;
  int chosen = 0;
  const int texts = 2000, length = 50;
  for (int t = 0; t < texts; ++t) {
    std::vector<int32_t> ids(length, 7);
    std::vector<uint8_t> candidates(length, 1);
    candidates[3] = 0;
    const auto positions = mask_tokens(rule, static_cast<uint64_t>(t), candidates, ids);
    chosen += static_cast<int>(positions.size());
    for (const int64_t p : positions) {
      CHECK(p != 3);
      ++counts[ids[static_cast<size_t>(p)]];
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool listed = std::find(positions.begin(), positions.end(), static_cast<int64_t>(i)) != positions.end();
      if (!listed) REQUIRE(ids[i] == 7);
    }
  }
  const double all = texts * (length - 1);
  CHECK(chosen / all == doctest::Approx(0.15).epsilon(0.03));
  CHECK(counts[4] / static_cast<double>(chosen) == doctest::Approx(0.8).epsilon(0.02));
  CHECK(counts[7] / static_cast<double>(chosen) == doctest::Approx(0.1 + 0.1 / 49).epsilon(0.1));
  CHECK(counts.count(0) == 0);  // no token is replaced by the pad
  CHECK(counts.size() == 49);   // any other token can be a replacement
  CHECK(counts.rbegin()->first == 49);
}

TEST_CASE("perplexity: both measures equal those computed from the logits that encode gives") {
  const CliFixture f;
  const std::string file = f.file("t.txt", many_lines());
  const Ran ran = run({"perplexity", f.model(), "-i", file, "--mode", "both", "--seed", "3", "--mask-rate", "0.4",
                       "--dump-masks", f.path("m.jsonl"), "--json"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const json result = json::parse(ran.out);
  CHECK(result["records"] == 60);
  CHECK(result["texts"] == 60);
  const auto dumped = json_lines(read_file(f.path("m.jsonl")));
  REQUIRE(dumped.size() == 60);
  std::vector<std::vector<int64_t>> masked, alone;
  std::vector<std::pair<size_t, int64_t>> alone_truths;  // position, truth
  for (size_t t = 0; t < dumped.size(); ++t) {
    const json& line = dumped[t];
    CHECK(line["text"] == t);
    CHECK(line["id"] == t + 1);
    masked.push_back(line["masked"]);
    // The masked tokens are computed here from the description of the rule.
    auto ids = line["ids"].get<std::vector<int64_t>>();
    REQUIRE(ids.front() == 2);
    REQUIRE(ids.back() == 3);
    std::vector<int64_t> changed = ids, positions;
    const auto unit = [](uint64_t x) { return static_cast<double>(x >> 11) / 9007199254740992.0; };
    for (size_t i = 1; i + 1 < ids.size(); ++i) {
      using linformer::cli::mix;
      const uint64_t h = mix(mix(mix(3) ^ t) ^ i), g = mix(h), r = mix(g);
      if (!(unit(h) < 0.4)) continue;
      positions.push_back(static_cast<int64_t>(i));
      if (unit(g) < 0.8) {
        changed[i] = 4;
      } else if (unit(g) < 0.9) {
        changed[i] = static_cast<int64_t>(r % 12) + 1;  // 13 ids without the pad, 0
      }
    }
    CHECK(line["masked"] == changed);
    CHECK(line["positions"] == positions);
    for (size_t i = 1; i + 1 < ids.size(); ++i) {
      const int64_t truth = ids[i];
      ids[i] = 4;
      alone.push_back(ids);
      alone_truths.emplace_back(i, truth);
      ids[i] = truth;
    }
  }
  Expected mlm, pseudo;
  const FloatArray masked_logits = logits_of(f, masked), alone_logits = logits_of(f, alone);
  const size_t masked_rows = static_cast<size_t>(masked_logits.shape[1]);
  for (size_t t = 0; t < dumped.size(); ++t) {
    for (const size_t p : dumped[t]["positions"].get<std::vector<size_t>>()) {
      add(masked_logits, t * masked_rows + p, dumped[t]["ids"][p].get<int64_t>(), &mlm);
    }
  }
  const size_t alone_rows = static_cast<size_t>(alone_logits.shape[1]);
  for (size_t i = 0; i < alone_truths.size(); ++i) {
    add(alone_logits, i * alone_rows + alone_truths[i].first, alone_truths[i].second, &pseudo);
  }
  check_equal(result["mlm"], mlm);
  check_equal(result["pseudo"], pseudo);
  CHECK(result["mlm"]["seed"] == 3);
  // Batch size and number of threads don't change the result. A measure that is computed alone has the same value as
  // when both are computed.
  const auto again = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"perplexity", f.model(), "-i", file, "--mask-rate", "0.4", "--json"});
    return json::parse(run(more).out);
  };
  const auto same = [](const json& a, const json& b) {
    CHECK(a["tokens"] == b["tokens"]);
    CHECK(a["loss"].get<double>() == doctest::Approx(b["loss"].get<double>()).epsilon(1e-12));
  };
  same(again({"--seed", "3", "--batch", "1"})["mlm"], result["mlm"]);
  same(again({"--seed", "3", "--mode", "pseudo", "--batch", "3", "--threads", "2"})["pseudo"], result["pseudo"]);
  CHECK_FALSE(again({"--seed", "3"}).contains("pseudo"));
  CHECK(again({"--seed", "4"})["mlm"]["loss"] != result["mlm"]["loss"]);
}

TEST_CASE("perplexity: ids are read instead of texts, and --mask-id names the mask token") {
  const CliFixture f, no_mask({.tokenizer = false});
  const std::string ids = f.file("i.jsonl", "[2,5,7,5,3]\n[2,6,6,0,3]\n");
  const std::string text = f.file("t.txt", "good film good\nbad bad\n");
  const json expected = json::parse(run({"perplexity", f.model(), "-i", text, "--mode", "pseudo", "--json"}).out);
  CHECK(expected["pseudo"]["tokens"] == 5);
  CHECK(json::parse(run({"perplexity", f.model(), "--ids", ids, "--mode", "pseudo", "--json"}).out)["pseudo"] ==
        expected["pseudo"]);
  // Without a tokenizer the program doesn't know that 2 and 3 are special tokens, and counts them too.
  const Ran other = run({"perplexity", no_mask.model(), "--ids", ids, "--mode", "pseudo", "--mask-id", "4", "--json"});
  CHECK(json::parse(other.out)["pseudo"]["tokens"] == 9);
  const Ran unknown = run({"perplexity", no_mask.model(), "--ids", ids});
  CHECK(unknown.code == 1);
  CHECK(unknown.err.find("--mask-id") != std::string::npos);
  CHECK(run({"perplexity", no_mask.model(), "--ids", ids, "--mask-id", "13"}).code == 2);
}

TEST_CASE("perplexity: windows count each token once, and --limit ends the measurement early") {
  const CliFixture f;
  std::string words;
  for (int i = 0; i < 25; ++i) words += i % 3 == 0 ? "good " : "film ";
  const std::string file = f.file("t.txt", words + "\ngood\n");
  const auto tokens = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"perplexity", f.model(), "-i", file, "--mode", "pseudo", "--json"});
    const Ran ran = run(more);
    return json::parse(ran.out)["pseudo"]["tokens"].get<int>();
  };
  CHECK(tokens({}) == 11);
  CHECK(tokens({"--on-long", "window"}) == 26);
  CHECK(tokens({"--on-long", "window", "--overlap", "0"}) == 26);
  CHECK(tokens({"--on-long", "window", "--overlap", "7"}) == 26);
  CHECK(tokens({"--limit", "1"}) == 10);
  const Ran error = run({"perplexity", f.model(), "-i", file, "--mode", "pseudo", "--json", "--on-long", "error"});
  CHECK(error.code == 1);
  CHECK(json::parse(error.out)["errors"] == 1);
  CHECK(json::parse(error.out)["pseudo"]["tokens"] == 1);
}

TEST_CASE("perplexity: results are printed as a table, empty input gives no number, and wrong options are refused") {
  const CliFixture f;
  const std::string file = f.file("t.txt", many_lines());
  const Ran table = run({"perplexity", f.model(), "-i", file, "--mode", "both"});
  const auto lines = lines_of(table.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find("perplexity") != std::string::npos);
  CHECK(lines[1].rfind("masked LM, 15.0 % chosen by seed 0", 0) == 0);
  CHECK(lines[2].rfind("pseudo, each token masked alone", 0) == 0);
  CHECK(lines[0].size() >= lines[1].find(" %"));
  const Ran empty = run({"perplexity", f.model(), "-", "--json"}, "");
  CHECK(empty.code == 0);
  CHECK(json::parse(empty.out)["mlm"]["tokens"] == 0);
  CHECK(json::parse(empty.out)["mlm"]["loss"].is_null());
  CHECK(run({"perplexity", f.model()}).code == 2);
  CHECK(run({"perplexity", f.model(), "-i", file, "--ids", file}).code == 2);
  CHECK(run({"perplexity", f.model(), "-i", file, "--mode", "pseudo", "--dump-masks", f.path("m")}).code == 2);
  CHECK(run({"perplexity", f.model(), "-i", file, "--mask-rate", "1.5"}).code == 2);
  CHECK(run({"perplexity", f.model(), "-i", f.path("absent")}).code == 1);
  const CliFixture no_head({.vectors = true});
  const Ran refused = run({"perplexity", no_head.model(), "-i", file});
  CHECK(refused.code == 1);
  CHECK(refused.err.find("no masked-LM head") != std::string::npos);
  CHECK(run({"perplexity", "--help"}).out.find("Examples:") != std::string::npos);
}

}  // namespace linformer_test::perplexity_test
