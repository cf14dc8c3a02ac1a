#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arrays.h"
#include "process.h"
#include "refused.h"
#include "sentiment_model.h"

namespace linformer_test::search_test {

using nlohmann::json;

namespace {

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0, left = 0, right = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    left += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    right += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return product / std::sqrt(left * right);
}

struct Texts : CliFixture {
  Texts() : CliFixture({.embedding = true}) {
    for (int i = 0; i < 60; ++i) {
      std::string text;
      for (int word = 0; word < 1 + i % 7; ++word)
        text += sentiment_words[static_cast<size_t>(5 + (i * 5 + word * 3) % 8)] + " ";
      lines += text + "\n";
    }
    file("texts.txt", lines);
  }
  std::string lines;
};

}  // namespace

TEST_CASE("search: the nearest texts are found, with vectors that are computed or read from a file") {
  const Texts f;
  const std::string texts = f.path("texts.txt"), vectors = f.path("v.npy");
  REQUIRE(run({"embed", f.model(), "-i", texts, "-o", vectors}).code == 0);
  const FloatArray rows = parse_float_npy(read_file(vectors));
  const FloatArray query = parse_float_npy(run({"embed", f.model(), "good film", "-o", "-"}).out);
  const auto search = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"search", f.model(), "--query", "good film", "--json"});
    return run(more);
  };
  const Ran now = search({"-i", texts, "--top-k", "60"});
  CHECK(now.code == 0);
  CHECK(now.err == "");
  const auto answers = json_lines(now.out);
  REQUIRE(answers.size() == 60);
  const auto written = lines_of(f.lines);
  double last = 2;
  int64_t last_index = -1;
  for (const json& answer : answers) {
    const size_t index = answer["index"].get<size_t>();
    const double score = answer["score"].get<double>();
    CHECK(score == doctest::Approx(cosine(rows.row(index), query.row(0))).epsilon(1e-5));
    CHECK(answer["text"] == written[index]);
    CHECK(answer["id"] == index + 1);
    CHECK(score <= last);
    if (score == last) CHECK(static_cast<int64_t>(index) > last_index);
    last = score;
    last_index = static_cast<int64_t>(index);
  }
  CHECK(search({"-i", texts, "--top-k", "60", "--vectors", vectors}).out == now.out);
  CHECK(search({"-i", texts, "--top-k", "60", "--vectors", vectors, "--threads", "3"}).out == now.out);
  CHECK(search({"-i", texts, "--top-k", "60", "--vectors", vectors, "--no-mmap"}).out == now.out);
  CHECK(search({"-i", texts, "--top-k", "60", "--threads", "3", "--batch", "1"}).out == now.out);
  const auto best = json_lines(search({"-i", texts, "--top-k", "3"}).out);
  CHECK(best == std::vector<json>(answers.begin(), answers.begin() + 3));
  CHECK(json_lines(search({"-i", texts}).out).size() == 10);
  // Without texts a row is identified by its number.
  const auto bare = json_lines(search({"--vectors", vectors, "--top-k", "3"}).out);
  for (size_t i = 0; i < 3; ++i) {
    json expected = answers[i];
    expected.erase("text");
    CHECK(bare[i] == expected);
  }
  // These vectors have length 1, so that the dot product equals the cosine.
  const auto dot = json_lines(search({"--vectors", vectors, "--top-k", "3", "--similarity", "dot"}).out);
  CHECK(dot[0]["score"].get<double>() == doctest::Approx(answers[0]["score"].get<double>()).epsilon(1e-5));
  const auto two = lines_of(run({"search", f.model(), "--queries", f.file("q.txt", "good film\nbad\n"), "-i", texts,
                                 "--top-k", "2", "--output-format", "tsv"})
                                .out);
  REQUIRE(two.size() == 5);
  CHECK(two[0] == "query\tindex\tid\tscore\ttext");
  CHECK(two[3].starts_with("2\t"));
}

TEST_CASE("search: answers have ids and kept fields, and a bad record keeps its row") {
  const Texts f;
  const std::string records = f.file(
      "r.jsonl", "{\"k\":\"x\",\"text\":\"bad\"}\n{\"k\":\"y\"}\n{\"k\":\"z\",\"text\":\"good film\",\"more\":[1]}\n");
  const std::string vectors = f.path("v.npy");
  CHECK(run({"embed", f.model(), "-i", records, "-o", vectors}).code == 1);
  const std::vector<std::string> arguments = {"search", f.model(), "--query", "good film", "-i",    records,
                                              "--id",   "k",       "--keep",  "all",       "--json"};
  std::vector<std::string> with = arguments;
  with.insert(with.end(), {"--vectors", vectors});
  const Ran ran = run(with);
  CHECK(ran.code == 0);
  const auto answers = json_lines(ran.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["id"] == "z");
  CHECK(answers[0]["index"] == 2);
  CHECK(answers[0]["more"] == json::array({1}));
  const Ran now = run(arguments);
  CHECK(now.code == 1);
  CHECK(now.out == ran.out);
  CHECK(now.err.find("1 of 3 records bad") != std::string::npos);
}

TEST_CASE("search: a record without a text is an error if its row of --vectors is found") {
  const Texts f;
  const std::string vectors = f.path("v.npy");
  REQUIRE(run({"embed", f.model(), "bad", "good film", "-o", vectors}).code == 0);
  const std::string records = f.file("r.jsonl", "{\"text\":\"bad\"}\n{\"k\":\"y\"}\n");
  const Ran ran = run({"search", f.model(), "--query", "good film", "-i", records, "--vectors", vectors});
  CHECK(ran.code == 1);
  CHECK(ran.err.find("1 of 2 records bad") != std::string::npos);
}

TEST_CASE("search: arrays that can't be the vectors of the texts are refused") {
  const Texts f;
  const std::string texts = f.path("texts.txt"), vectors = f.path("v.npy");
  REQUIRE(run({"embed", f.model(), "-i", texts, "-o", vectors}).code == 0);
  const std::string array = read_file(vectors);
  const auto refused = [&](const std::vector<std::string>& more, int code, const std::string& part) {
    std::vector<std::string> all = {"search", f.model(), "--query", "good"};
    all.insert(all.end(), more.begin(), more.end());
    check_refused(all, code, part);
  };
  refused({"--vectors", vectors, "-i", f.file("few.txt", "good\nbad\n")}, 1, "60 rows and the input has 2 records");
  refused({"--vectors", f.file("other.npy", npy_of_floats<float>({3, 5}, std::vector<float>(15, 1)))}, 1,
          "5 numbers and this model's vectors 16");
  refused({"--vectors", f.file("flat.npy", npy_of_floats<float>({16}, std::vector<float>(16, 1)))}, 1,
          "[rows, columns]");
  refused({"--vectors", f.file("cut.npy", array.substr(0, array.size() - 4))}, 1, "does not fit the file's size");
  refused({"--vectors", f.file("ids.npy", npy_of_ids({{1, 2}}))}, 1, "float32");
  refused({"--vectors", texts}, 1, "not an npy file");
  refused({"--vectors", f.path("none.npy")}, 1, "none.npy");
  std::string huge = array;
  const size_t shape = huge.find("(60, 16)");
  REQUIRE(shape != std::string::npos);
  huge.replace(shape, 8, "(9999999999999999999, 16)");
  refused({"--vectors", f.file("huge.npy", huge)}, 1, "npy header");
  refused({}, 2, "nothing to search in");
  refused({"--vectors", vectors, "--limit", "3"}, 2, "--limit");
  refused({"--vectors", vectors, "--keep", "a"}, 2, "--keep");
  refused({"good", "--top-k", "0"}, 2, "--top-k");
  // An array of doubles, which can't be mapped as floats, is read too.
  const FloatArray rows = parse_float_npy(array);
  const std::string doubles =
      f.file("d.npy", npy_of_floats<double>({60, 16}, std::vector<double>(rows.values.begin(), rows.values.end())));
  const auto found = [&](const std::string& file) {
    return run({"search", f.model(), "--query", "good film", "--vectors", file, "--json"}).out;
  };
  CHECK(found(doubles) == found(vectors));
  CHECK(json_lines(found(vectors)).size() == 10);
}

}  // namespace linformer_test::search_test
