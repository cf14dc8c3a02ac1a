// Tests models that read vectors: npy input, and clear errors for the wrong kind of input.
#include <doctest/doctest.h>

#include "arrays.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::vectors_test {

using nlohmann::json;

namespace {

// Returns items of two vectors each, one item for each pair of numbers. Both vectors of an item begin with its pair: to
// the model the first number is how "good" the item is, and the second how "bad".
std::vector<float> vectors(const std::vector<std::pair<float, float>>& items) {
  std::vector<float> values;
  for (const auto& [good, bad] : items) {
    for (int v = 0; v < 2; ++v) {
      std::vector<float> vector(sentiment_width);
      vector[0] = good;
      vector[1] = bad;
      vector[2] = static_cast<float>(v);
      values.insert(values.end(), vector.begin(), vector.end());
    }
  }
  return values;
}

}  // namespace

TEST_CASE("classify --vectors: each item gets a label") {
  const CliFixture f({.vectors = true});
  const std::vector<float> values = vectors({{1, 0}, {0, 1}, {2, 1}});
  const std::string file = f.file("v.npy", npy_of_floats<float>({3, 2, 16}, values));
  const Ran ran = run({"classify", f.model(), "--vectors", file, "--json"});
  CHECK(ran.code == 0);
  const auto answers = json_lines(ran.out);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0]["label"] == "pos");
  CHECK(answers[1]["label"] == "neg");
  CHECK(answers[2]["label"] == "pos");
  CHECK(answers[2]["id"] == 3);
  CHECK(answers[2]["tokens"] == 2);
  CHECK(run({"classify", f.model(), "--vectors", file, "--json", "--batch", "1"}).out == ran.out);
  CHECK(run({"classify", f.model(), "--vectors", "-", "--json"}, read_file(file)).out == ran.out);
  // An array may be a single item, and may be in double precision.
  const std::vector<double> wide(values.begin(), values.begin() + 32);
  const Ran one =
      run({"classify", f.model(), "--vectors", f.file("d.npy", npy_of_floats<double>({2, 16}, wide)), "--json"});
  CHECK(one.out == lines_of(ran.out)[0] + "\n");
  CHECK(run({"classify", f.model(), "--vectors", file, "--all-heads", "--table"}).code == 0);
}

TEST_CASE("encode --vectors: the output includes the row that the model puts before the vectors") {
  const CliFixture f({.vectors = true});
  const std::vector<float> values = vectors({{1, 0}, {0, 1}, {2, 1}});
  const std::string file = f.file("v.npy", npy_of_floats<float>({3, 2, 16}, values));
  const auto encode = [&](const std::string& what, const std::string& batch) {
    const Ran ran =
        run({"encode", f.model(), "--vectors", file, "--what", what, "--batch", batch, "-o", f.path("o.npy")});
    CHECK(ran.code == 0);
    CHECK(ran.err == "");
    return parse_float_npy(read_file(f.path("o.npy")));
  };
  const FloatArray embedding = encode("hidden:0", "2");
  CHECK(embedding.shape == Shape{3, 3, 16});
  for (size_t item = 0; item < 3; ++item) {
    CHECK(embedding.row(3 * item) == std::vector<float>(16, 0.f));
    for (size_t v = 0; v < 2; ++v) {
      const auto from = values.begin() + static_cast<ptrdiff_t>((2 * item + v) * 16);
      CHECK(embedding.row(3 * item + 1 + v) == std::vector<float>(from, from + 16));
    }
  }
  const FloatArray hidden = encode("hidden", "1"), pooled = encode("pooled", "3");
  CHECK(hidden.shape == Shape{3, 3, 16});
  CHECK(pooled.shape == Shape{3, 16});
  for (size_t item = 0; item < 3; ++item) CHECK(pooled.row(item) == hidden.row(3 * item));
  CHECK(encode("logits", "2").shape == Shape{3, 3});
}

TEST_CASE("vectors: wrong arrays and the wrong kind of input are refused in one line") {
  const CliFixture f({.vectors = true}), text;
  const std::string good = f.file("v.npy", npy_of_floats<float>({2, 16}, std::vector<float>(32)));
  const std::string bad[] = {npy_of_floats<float>({2, 15}, std::vector<float>(30)),
                             npy_of_floats<float>({32}, std::vector<float>(32)),
                             npy_of_floats<float>({0, 0, 16}, {}).substr(0, 40),
                             npy_of_floats<float>({1, 0, 16}, {}),
                             npy_of_floats<float>({2, 16}, std::vector<float>(31)),
                             npy_of_floats<float>({2, 16}, std::vector<float>(33)),
                             npy_of_floats<float>({12, 16}, std::vector<float>(192)),  // 12 rows and one before them
                             npy_of_ids({{1, 2}}),
                             "[1, 2]\n"};
  for (const std::string& content : bad) {
    CAPTURE(content.substr(0, 90));
    const std::string file = f.file("bad.npy", content);
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"classify", f.model(), "--vectors", file},
          {"encode", f.model(), "--vectors", file, "-o", f.path("o.npy")}}) {
      const Ran ran = run(arguments);
      CHECK(ran.code == 1);
      CHECK(lines_of(ran.err).size() == 1);
    }
  }
  const auto says = [](const std::vector<std::string>& arguments, const std::string& part) {
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.find(part) != std::string::npos);
  };
  says({"classify", f.model(), "good"}, "reads vectors of 16 numbers and no text");
  says({"encode", f.model(), "good", "-o", "-"}, "reads vectors of 16 numbers");
  says({"encode", f.model(), "--ids", f.file("i", "[1]"), "-o", "-"}, "reads vectors of 16 numbers");
  says({"embed", f.model(), "good", "--json"}, "reads vectors of 16 numbers");
  says({"tokenize", f.model(), "good"}, "reads vectors of 16 numbers");
  says({"classify", text.model(), "--vectors", good}, "reads tokens and no vectors");
  says({"encode", text.model(), "--vectors", good, "-o", "-"}, "reads tokens and no vectors");
  CHECK(run({"classify", f.model(), "good", "--vectors", good}).code == 2);
  CHECK(run({"classify", f.model(), "--vectors", good, "--eval", "y"}).code == 2);
  CHECK(run({"encode", f.model(), "good", "--vectors", good, "-o", "-"}).code == 2);
}

}  // namespace linformer_test::vectors_test
