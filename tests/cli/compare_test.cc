// Tests `linformer compare`: its numbers equal those that follow from the outputs of the two models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "arrays.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::compare_test {

using nlohmann::json;

namespace {

const char* const texts =
    "{\"t\": \"good film\", \"l\": \"pos\"}\n{\"t\": \"a bad plot .\", \"l\": \"neg\"}\n"
    "{\"t\": \"the film , the plot\", \"l\": \"pos\"}\n";

// A folder with the same model in f32 and in int8, and the texts.
struct Models : CliFixture {
  Models() {
    SentimentModel shape;
    shape.type = linformer::ElementType::int8;
    write_sentiment_model(shape, small());
    file("t.jsonl", texts);
  }
  std::string small() const { return path("int8.lnfr"); }
  std::vector<std::string> input() const { return {"-i", path("t.jsonl"), "--field", "t"}; }
  Ran compare(std::vector<std::string> first, const std::vector<std::string>& more = {}) const {
    first.insert(first.begin(), "compare");
    for (const std::string& argument : input()) first.push_back(argument);
    first.insert(first.end(), more.begin(), more.end());
    return run(first);
  }
  FloatArray array(const std::string& model, const std::string& what) const {
    std::vector<std::string> arguments = {"encode", model, "--what", what, "-o", path("o.npy")};
    if (what == "vector") arguments = {"embed", model, "--pooling", "mean", "-o", path("o.npy")};
    for (const std::string& argument : input()) arguments.push_back(argument);
    const Ran ran = run(arguments);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return parse_float_npy(read_file(path("o.npy")));
  }
};

void check_numbers(const json& said, const FloatArray& original, const FloatArray& other) {
  double largest = 0, sum = 0, squares = 0, all = 0, cosines = 0, least = 1;
  const size_t width = static_cast<size_t>(original.shape[1]), rows = static_cast<size_t>(original.shape[0]);
  for (size_t r = 0; r < rows; ++r) {
    double product = 0, a2 = 0, b2 = 0;
    for (size_t i = 0; i < width; ++i) {
      const double a = static_cast<double>(original.row(r)[i]), b = static_cast<double>(other.row(r)[i]);
      largest = std::max(largest, std::abs(a - b));
      sum += std::abs(a - b);
      squares += (a - b) * (a - b);
      product += a * b;
      a2 += a * a;
      b2 += b * b;
    }
    all += a2;
    const double cosine = a2 == 0 && b2 == 0 ? 1 : product / std::sqrt(a2 * b2);
    cosines += cosine;
    least = std::min(least, cosine);
  }
  CHECK(said["largest"] == doctest::Approx(largest));
  CHECK(said["mean"] == doctest::Approx(sum / static_cast<double>(rows * width)));
  CHECK(said["relative"] == doctest::Approx(std::sqrt(squares / all)));
  CHECK(said["mean_cosine"] == doctest::Approx(cosines / static_cast<double>(rows)));
  CHECK(said["least_cosine"] == doctest::Approx(least));
}

void usage_error(const Ran& ran, const std::string& sentence) {
  CHECK(ran.code == 2);
  CHECK(ran.out == "");
  CHECK_MESSAGE(ran.err.find(sentence) != std::string::npos, ran.err);
}

}  // namespace

TEST_CASE("compare: a model doesn't differ from itself") {
  const Models f;
  const Ran ran = f.compare({f.model(), f.model()}, {"--eval", "l"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  for (const char* line :
       {"records         3", "labels changed  0 (0.00 %)", "(+0.00 points)",
        "differ by 0 on average, at most 0 (record 1)", "cosine 1.000000 on average, at least 1.000000"}) {
    CHECK_MESSAGE(ran.out.find(line) != std::string::npos, line << " is not in " << ran.out);
  }
}

TEST_CASE("compare: the differences between two precisions equal those between the outputs of encode and embed") {
  const Models f;
  const Ran ran = f.compare({f.model(), f.small()}, {"--eval", "l", "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const json said = json::parse(ran.out);
  CHECK(said["first"]["compute"] == "f32");
  CHECK(said["second"]["compute"] == "int8");
  CHECK(said["records"] == 3);
  const FloatArray wide = f.array(f.model(), "logits"), narrow = f.array(f.small(), "logits");
  check_numbers(said["logits"], wide, narrow);
  check_numbers(said["vectors"], f.array(f.model(), "vector"), f.array(f.small(), "vector"));
  int changed = 0, right[2] = {};
  const int truths[] = {2, 0, 2};
  for (size_t r = 0; r < 3; ++r) {
    const auto best = [&](const FloatArray& logits) {
      const std::vector<float> row = logits.row(r);
      return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
    };
    changed += best(wide) != best(narrow) ? 1 : 0;
    right[0] += best(wide) == truths[r] ? 1 : 0;
    right[1] += best(narrow) == truths[r] ? 1 : 0;
  }
  CHECK(said["labels_changed"] == changed);
  CHECK(said["accuracy"][0] == doctest::Approx(right[0] / 3.));
  CHECK(said["accuracy"][1] == doctest::Approx(right[1] / 3.));
  CHECK(right[0] == 2);
}

TEST_CASE("compare: --reference takes the original program's logits or vectors instead of a second model") {
  const Models f;
  const FloatArray logits = f.array(f.model(), "logits");
  const std::string reference = f.path("reference.npy");
  run({"encode", f.model(), "--what", "logits", "-o", reference, "-i", f.path("t.jsonl"), "--field", "t"});
  const Ran same = f.compare({f.model()}, {"--reference", reference, "--json"});
  REQUIRE_MESSAGE(same.code == 0, same.err);
  CHECK(json::parse(same.out)["logits"]["largest"] == 0);
  CHECK(json::parse(same.out)["labels_changed"] == 0);
  CHECK_FALSE(json::parse(same.out).contains("vectors"));
  check_numbers(json::parse(f.compare({f.small()}, {"--reference", reference, "--json"}).out)["logits"], logits,
                f.array(f.small(), "logits"));
  run({"embed", f.model(), "--pooling", "mean", "-o", reference, "-i", f.path("t.jsonl"), "--field", "t"});
  const Ran vectors = f.compare({f.model()}, {"--reference", reference, "--json"});
  CHECK(json::parse(vectors.out)["vectors"]["largest"] == 0);

  const auto refused = [&](const Shape& shape, const std::string& sentence) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    f.file("reference.npy", npy_bytes("<f4", shape, std::string(static_cast<size_t>(count) * 4, '\0')));
    const Ran ran = f.compare({f.model()}, {"--reference", reference});
    CHECK(ran.code == 1);
    CHECK(ran.out == "");
    CHECK_MESSAGE(ran.err.find(sentence) != std::string::npos, ran.err);
  };
  refused({2, 3}, "has 2 rows; there are more records");
  refused({4, 3}, "has 4 rows; there are fewer records");
  refused({3, 5}, "has 5 numbers for a record");
  refused({3, 1, 3}, "is not [rows, columns]");
}

TEST_CASE("compare: records and models that can't be compared are left out or refused") {
  const Models f;
  f.file("t.jsonl", std::string(texts) + "{\"t\": \"a film\", \"l\": \"nothing\"}\n{\"u\": 1}\n");
  const Ran some = f.compare({f.model(), f.model()}, {"--eval", "l", "--json"});
  CHECK(some.code == 1);
  CHECK(json::parse(some.out)["records"] == 3);
  CHECK(json::parse(some.out)["errors"] == 2);
  CHECK(some.err.find("nothing") != std::string::npos);

  const auto nothing = [](const Ran& ran, const std::string& sentence) {
    CHECK(ran.code == 1);
    CHECK(ran.out == "");
    CHECK_MESSAGE(ran.err.find(sentence) != std::string::npos, ran.err);
  };
  nothing(run({"compare", f.model(), f.small(), "-i", f.path("t.jsonl"), "--field", "v"}),
          "none of the 5 records could be compared");
  f.file("empty.txt", "");
  nothing(run({"compare", f.model(), f.small(), "-i", f.path("empty.txt")}), "the input holds no records");

  usage_error(run({"compare", f.model(), "--reference", "-", "-i", "-"}), "can't both be standard input");
  f.file("ids.csv", "text,id\ngood film,\xff\xfe\n");
  const Ran odd = run({"compare", f.model(), f.small(), "-i", f.path("ids.csv"), "--id", "id", "--json"});
  CHECK(odd.code == 0);
  CHECK(json::parse(odd.out)["records"] == 1);

  f.file("t.jsonl", texts);
  const float rows[9] = {1, 2, 3, 4, NAN, 6, 7, 8, 9};
  f.file("reference.npy", npy_bytes("<f4", {3, 3}, std::string(reinterpret_cast<const char*>(rows), sizeof rows)));
  const Ran infinite = f.compare({f.model()}, {"--reference", f.path("reference.npy"), "--json"});
  CHECK(infinite.code == 1);
  CHECK(json::parse(infinite.out)["records"] == 2);
  CHECK(json::parse(infinite.out)["errors"] == 1);
  CHECK(infinite.err.find("reference.npy gives numbers that are not finite") != std::string::npos);

  SentimentModel shape;
  shape.heads = false;
  write_sentiment_model(shape, f.path("headless.lnfr"));
  for (const bool others : {true, false}) {
    // Heads that score tokens or pairs are not compared.
    shape.more_heads = others;
    write_sentiment_model(shape, f.path("headless.lnfr"));
    const Ran ran = f.compare({f.path("headless.lnfr"), f.path("headless.lnfr")}, {"--json"});
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    CHECK_FALSE(json::parse(ran.out).contains("logits"));
  }
  const json vectors = json::parse(f.compare({f.model(), f.path("headless.lnfr")}, {"--json"}).out);
  CHECK_FALSE(vectors.contains("logits"));
  CHECK(vectors["vectors"]["largest"] == 0);

  usage_error(f.compare({f.model()}), "give either a second model or --reference");
  usage_error(f.compare({f.model(), f.small(), "--reference", "x.npy"}), "give either a second model or --reference");
  usage_error(run({"compare", f.model(), f.small()}), "nothing to compare on");
  usage_error(f.compare({f.model(), f.path("headless.lnfr")}, {"--eval", "l"}), "--eval needs a head");
}

}  // namespace linformer_test::compare_test
