// Tests a model whose output for one of the texts is not finite. Every command must name that record and answer the
// others.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "arrays.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::not_finite_test {

using nlohmann::json;

namespace {

constexpr const char* reason = "the model gave a number that is not finite; check its weights";

// The second of three records contains the word whose embedding has a NaN.
struct NotFinite : CliFixture {
  NotFinite() : CliFixture({.more_heads = true, .embedding = true, .not_finite = true}) {}
  const std::string texts = file("t.txt", "good [MASK]\nplot [MASK]\nbad [MASK]\n");
  const std::string ids = file("ids.jsonl", "[2, 5, 4, 3]\n[2, 12, 4, 3]\n[2, 6, 4, 3]\n");
};

void check_bad_second_record(const Ran& ran) {
  CHECK(ran.code == 1);
  CHECK(lines_of(ran.err) ==
        std::vector<std::string>{std::string("linformer: record 2: ") + reason, "linformer: 1 of 3 records bad"});
}

bool finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

TEST_CASE("not finite: encode names the record, writes what the model gave, and has exit code 1") {
  const NotFinite f;
  for (const char* what : {"hidden", "hidden:0", "pooled", "embedding", "logits", "logits:words", "mlm"}) {
    CAPTURE(what);
    for (const char* batch : {"1", "16"}) {
      const std::string out = f.path("out.npy");
      check_bad_second_record(run({"encode", f.model(), "--ids", f.ids, "--what", what, "-o", out, "--batch", batch}));
      const FloatArray array = parse_float_npy(read_file(out));
      REQUIRE(array.shape[0] == 3);
      const auto each = static_cast<ptrdiff_t>(array.values.size() / 3);
      for (ptrdiff_t record = 0; record < 3; ++record) {
        const auto begin = array.values.begin() + record * each;
        CHECK(finite({begin, begin + each}) == (record != 1));
      }
    }
  }
  check_bad_second_record(run({"encode", f.model(), "--input", f.texts, "-o", f.path("out.npy")}));
  CHECK(run({"encode", f.model(), "good", "-o", f.path("out.npy")}).code == 0);
}

TEST_CASE("not finite: encode counts the texts that a head compares as one record") {
  const NotFinite f;
  const std::string ids = f.file("pairs.jsonl", "[5]\n[6]\n[5]\n[12]\n[6]\n[5]\n");
  for (const char* batch : {"1", "2", "16"}) {
    CAPTURE(batch);
    check_bad_second_record(
        run({"encode", f.model(), "--ids", ids, "--what", "logits:better", "-o", f.path("out.npy"), "--batch", batch}));
  }
}

TEST_CASE("not finite: every bad record is counted, and the first twenty are named") {
  const NotFinite f;
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += "[12]\n";
  const Ran ran = run({"encode", f.model(), "--ids", f.file("many.jsonl", lines), "-o", f.path("out.npy")});
  CHECK(ran.code == 1);
  REQUIRE(lines_of(ran.err).size() == 21);
  CHECK(lines_of(ran.err).back() == "linformer: 50 of 50 records bad");
}

TEST_CASE("not finite: classify, embed and fill-mask answer the other records") {
  const NotFinite f;
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"classify", f.model(), "--json"},
                                                    {"embed", f.model(), "--json"},
                                                    {"fill-mask", f.model(), "--json"}}) {
    CAPTURE(arguments[0]);
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--input", f.texts});
    const Ran ran = run(all);
    CHECK(ran.code == 1);
    CHECK(ran.err == "linformer: 1 of 3 records bad\n");
    const std::vector<json> lines = json_lines(ran.out);
    REQUIRE(lines.size() == 3);
    for (size_t i = 0; i < 3; ++i) CHECK(lines[i].contains("error") == (i == 1));
    CHECK(lines[1]["error"] == reason);
  }
  check_bad_second_record(run({"embed", f.model(), "--input", f.texts, "-o", f.path("v.npy")}));
}

TEST_CASE("not finite: perplexity leaves the record out and counts the others") {
  const NotFinite f;
  const std::string good = f.file("good.txt", "good film .\nbad film .\n"),
                    mixed = f.file("mixed.txt", "good film .\nplot plot plot plot plot plot plot\nbad film .\n");
  for (const char* mode : {"mlm", "pseudo", "both"}) {
    CAPTURE(mode);
    for (const char* batch : {"1", "2", "16"}) {
      CAPTURE(batch);
      // At this rate every text has chosen tokens, but in the second text not every "plot" is chosen.
      std::vector<std::string> options = {"--mode", mode, "--json", "--mask-rate", "0.5", "--batch", batch};
      std::vector<std::string> bad = {"perplexity", f.model(), "-i", mixed},
                               fine = {"perplexity", f.model(), "-i", good};
      bad.insert(bad.end(), options.begin(), options.end());
      fine.insert(fine.end(), options.begin(), options.end());
      const Ran ran = run(bad);
      check_bad_second_record(ran);
      const json got = json::parse(ran.out), expected = json::parse(run(fine).out);
      CHECK(got["errors"] == 1);
      CHECK(got["records"] == 3);
      if (got.contains("pseudo")) CHECK(got["pseudo"] == expected["pseudo"]);
      if (got.contains("mlm")) CHECK(got["mlm"]["tokens"] > 0);
    }
  }
  const std::string plots = f.file("plots.txt", "plot plot\n");
  const Ran none = run({"perplexity", f.model(), "-i", plots, "--mode", "pseudo", "--json"});
  CHECK(none.code == 1);
  CHECK(json::parse(none.out)["pseudo"]["loss"].is_null());
}

TEST_CASE("not finite: perplexity counts no window of a bad record") {
  const NotFinite f;
  const std::string text = f.file("long.txt", "good film . good film . good film . good film . plot plot a a a a\n");
  const Ran ran = run({"perplexity", f.model(), "-i", text, "--mode", "pseudo", "--on-long", "window", "--json"});
  CHECK(ran.code == 1);
  const json result = json::parse(ran.out);
  CHECK(result["texts"].get<int>() > 1);
  CHECK(result["pseudo"]["tokens"] == 0);
}

TEST_CASE("not finite: compare names the model and leaves the record out") {
  const NotFinite f;
  const CliFixture sound({.more_heads = true, .embedding = true});
  for (const bool first : {true, false}) {
    const std::string one = first ? f.model() : sound.model(), other = first ? sound.model() : f.model();
    const Ran ran = run({"compare", one, other, "--input", f.texts, "--json"});
    CHECK(ran.code == 1);
    const json result = json::parse(ran.out);
    CHECK(result["records"] == 2);
    CHECK(result["errors"] == 1);
    REQUIRE(!lines_of(ran.err).empty());
    CHECK(lines_of(ran.err)[0] == "linformer: record \"2\": " + f.model() + ": " + reason);
  }
}

}  // namespace linformer_test::not_finite_test
