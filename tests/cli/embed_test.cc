#include <doctest/doctest.h>

#include <cmath>

#include "arrays.h"
#include "base/description.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::embed_test {

using nlohmann::json;

namespace {

double length_of(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

// Returns the mean of `rows` rows of `hidden`, beginning with row `first`.
std::vector<float> mean(const FloatArray& hidden, size_t first, size_t rows) {
  std::vector<float> result(sentiment_width);
  for (size_t i = 0; i < sentiment_width; ++i) {
    double sum = 0;
    for (size_t r = 0; r < rows; ++r) sum += static_cast<double>(hidden.row(first + r)[i]);
    result[i] = static_cast<float>(sum / static_cast<double>(rows));
  }
  return result;
}

void check_close(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-6f);
}

}  // namespace

TEST_CASE("embed: rows are pooled as --pooling says, and divided by the vector's length with --normalize") {
  const CliFixture f;
  const std::string file = f.file("t.txt", "good film\na bad plot .\n");
  const FloatArray hidden = parse_float_npy(run({"encode", f.model(), "-i", file, "-o", "-"}).out);  // 4 and 6 tokens
  const auto embed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"embed", f.model(), "-i", file, "-o", f.path("o.npy")});
    const Ran ran = run(more);
    CHECK(ran.code == 0);
    CHECK(ran.err == "");
    return parse_float_npy(read_file(f.path("o.npy")));
  };
  const FloatArray means = embed({"--pooling", "mean"});
  CHECK(means.shape == Shape{2, 16});
  check_close(means.row(0), mean(hidden, 0, 4));
  check_close(means.row(1), mean(hidden, 6, 6));
  CHECK(embed({"--pooling", "first"}).row(1) == hidden.row(6));
  const FloatArray largest = embed({"--pooling", "max"});
  for (size_t i = 0; i < 16; ++i) {
    float expected = hidden.row(0)[i];
    for (size_t r = 1; r < 4; ++r) expected = std::max(expected, hidden.row(r)[i]);
    CHECK(largest.row(0)[i] == expected);
  }
  const FloatArray divided = embed({"--pooling", "mean", "--normalize"});
  for (size_t t = 0; t < 2; ++t) {
    CHECK(length_of(divided.row(t)) == doctest::Approx(1));
    std::vector<float> scaled = means.row(t);
    for (float& value : scaled) value /= static_cast<float>(length_of(means.row(t)));
    check_close(divided.row(t), scaled);
  }
  for (const char* batch : {"1", "7"}) {
    CHECK(embed({"--pooling", "mean", "--batch", batch, "--threads", "2"}).values == means.values);
  }
  const Ran unsaid = run({"embed", f.model(), "good", "--json"});
  CHECK(unsaid.code == 2);
  CHECK(unsaid.err.find("--pooling first, last, mean, weighted-mean or max") != std::string::npos);
}

TEST_CASE("embed: the model's own pooling is the default, and options override it") {
  const CliFixture f({.embedding = true});
  const std::string file = f.file("t.txt", "good film\na bad plot .\n");
  const auto embed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"embed", f.model(), "-i", file, "-o", "-"});
    const Ran ran = run(more);
    CHECK(ran.code == 0);
    return parse_float_npy(ran.out);
  };
  const FloatArray own = embed({}), bare = embed({"--no-normalize"});
  CHECK(parse_float_npy(run({"encode", f.model(), "-i", file, "--what", "embedding", "-o", "-"}).out).values ==
        own.values);
  CHECK(embed({"--pooling", "mean"}).values == bare.values);
  CHECK(embed({"--normalize"}).values == own.values);
  for (size_t t = 0; t < 2; ++t) {
    CHECK(length_of(own.row(t)) == doctest::Approx(1));
    CHECK(length_of(bare.row(t)) > 1.5);
  }
  const CliFixture without;
  CHECK(run({"encode", without.model(), "a", "--what", "embedding", "-o", "-"}).code == 1);
}

TEST_CASE("embed: JSON lines carry ids, and bad records keep their place") {
  const CliFixture f({.embedding = true});
  const std::string file =
      f.file("t.jsonl", "{\"k\":\"x\",\"text\":\"good\"}\nnonsense\n{\"k\":\"z\",\"text\":\"bad film\"}\n");
  const Ran ran = run({"embed", f.model(), "-i", file, "--id", "k", "--json"});
  CHECK(ran.code == 1);
  const auto lines = json_lines(ran.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["id"] == "x");
  CHECK(lines[0]["tokens"] == 3);
  CHECK(lines[0]["embedding"].size() == 16);
  CHECK(lines[1].contains("error"));
  CHECK(lines[2]["id"] == "z");
  CHECK(ran.err == "linformer: 1 of 3 records bad\n");
  const Ran array = run({"embed", f.model(), "-i", file, "--id", "k", "-o", f.path("o.npy")});
  CHECK(array.code == 1);
  const FloatArray values = parse_float_npy(read_file(f.path("o.npy")));
  REQUIRE(values.shape == Shape{3, 16});
  for (const float value : values.row(1)) CHECK(std::isnan(value));
  for (const size_t t : {0u, 2u}) {
    for (size_t i = 0; i < 16; ++i) CHECK(lines[t]["embedding"][i].get<float>() == values.row(t)[i]);
  }
  CHECK(run({"embed", f.model(), "-i", file, "--id", "k", "--json", "-o", f.path("o.jsonl")}).code == 1);
  CHECK(read_file(f.path("o.jsonl")) == ran.out);
  // An output file appears only if it is complete.
  CHECK(run({"embed", f.model(), "-i", f.path("absent"), "-o", f.path("none.npy")}).code == 1);
  CHECK_FALSE(std::filesystem::exists(f.path("none.npy")));
}

TEST_CASE("embed: the vector of a long text is the mean over its windows") {
  const CliFixture f;
  const std::string words = "good bad film the plot a . , good bad";  // 10 words, 10 fit in a window of 12
  const auto embed = [&](const std::string& text, std::vector<std::string> more) {
    more.insert(more.begin(), {"embed", f.model(), text, "--pooling", "first", "--json"});
    const Ran ran = run(more);
    CHECK(ran.code == 0);
    return json_lines(ran.out).at(0);
  };
  const json whole = embed(words + " film film", {"--on-long", "window", "--overlap", "8"});
  CHECK(whole["windows"] == 2);
  const json first = embed(words, {}), second = embed("film the plot a . , good bad film film", {});
  for (size_t i = 0; i < 16; ++i) {
    const float expected = 0.5f * first["embedding"][i].get<float>() + 0.5f * second["embedding"][i].get<float>();
    CHECK(whole["embedding"][i].get<float>() == doctest::Approx(expected).epsilon(1e-6));
  }
  const Ran cut = run({"embed", f.model(), words + " film film", "--pooling", "first", "-o", f.path("o.npy")});
  CHECK(cut.code == 0);
  CHECK(cut.err == "linformer: 1 of 1 texts cut to 12 tokens; --on-long window reads all of a text\n");
}

TEST_CASE("embed: missing and conflicting options are usage errors") {
  const CliFixture f;
  CHECK(run({"embed", f.model(), "--json"}).code == 2);
  CHECK(run({"embed", f.model(), "good"}).code == 2);
  CHECK(run({"embed", f.model(), "good", "--json", "--pooling", "median"}).code == 2);
  CHECK(run({"embed", f.model(), "good", "--json", "--pooling", "mean", "--normalize", "--no-normalize"}).code == 2);
  CHECK(run({"embed", "--help"}).out.find("Examples:") != std::string::npos);
}

TEST_CASE("embed: --dimensions cuts a vector before it is divided by its length") {
  const CliFixture f({.embedding = true});
  const std::string file = f.file("t.txt", "good film\na bad plot .\n");
  const auto embed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"embed", f.model(), "-i", file, "-o", "-"});
    const Ran ran = run(more);
    CHECK(ran.code == 0);
    return parse_float_npy(ran.out);
  };
  const FloatArray all = embed({"--no-normalize"}), cut = embed({"--dimensions", "5"}),
                   bare = embed({"--no-normalize", "--dimensions", "5"});
  CHECK(cut.shape == Shape{2, 5});
  for (size_t t = 0; t < 2; ++t) {
    std::vector<float> expected = all.row(t);
    expected.resize(5);
    CHECK(bare.row(t) == expected);
    const double length = length_of(expected);
    for (float& value : expected) value /= static_cast<float>(length);
    check_close(cut.row(t), expected);
  }
  CHECK(embed({"--dimensions", "16"}).values == embed({}).values);
  const Ran refused = run({"embed", f.model(), "good", "--json", "--dimensions", "17"});
  CHECK(refused.code == 2);
  CHECK(refused.err.find("16 numbers") != std::string::npos);
  const Ran found = run({"search", f.model(), "--query", "good", "--dimensions", "5", "good film", "bad", "--json"});
  CHECK(found.code == 0);
  CHECK(json_lines(found.out).size() == 2);
}

TEST_CASE("embed and search: --prompt names the prompt that is put before each text") {
  SentimentModel shape;
  shape.embedding = true;
  shape.prompts = {{"query", "good "}, {"passage", "bad film "}};
  shape.default_prompt = 1;
  const CliFixture f(shape);
  const auto embed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"embed", f.model(), "-o", "-"});
    const Ran ran = run(more);
    CHECK(ran.code == 0);
    CHECK(ran.err == "");
    return parse_float_npy(ran.out).values;
  };
  CHECK(embed({"plot"}) == embed({"--prompt", "", "bad film plot"}));
  CHECK(embed({"--prompt", "query", "plot"}) == embed({"--prompt", "", "good plot"}));
  const Ran refused = run({"embed", f.model(), "plot", "--json", "--prompt", "nobody"});
  CHECK(refused.code == 2);
  CHECK(refused.err.find("no prompt called 'nobody': it has query, passage") != std::string::npos);
  CHECK(run({"embed", f.model(), "plot", "--sparse", "--prompt", "query"}).code == 2);
  const Ran found = run({"search", f.model(), "--prompt", "query", "--query", "plot", "plot", "bad", "--json"});
  CHECK(found.code == 0);
  CHECK(json_lines(found.out).size() == 2);
  // Queries get the model's prompt for queries, and texts get its prompt for passages.
  const auto score = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"search", f.model(), "--json"});
    const Ran ran = run(more);
    CHECK(ran.code == 0);
    return json_lines(ran.out).at(0)["score"].get<double>();
  };
  const double chosen = score({"--query", "plot", "plot"});
  CHECK(chosen == score({"--prompt", "", "--query", "good plot", "bad film plot"}));
  CHECK(score({"--query-prompt", "passage", "--query", "plot", "plot"}) == doctest::Approx(1));
  CHECK(score({"--prompt", "passage", "--query-prompt", "query", "--query", "plot", "plot"}) == chosen);
  CHECK(run({"search", f.model(), "--query-prompt", "nobody", "--query", "plot", "plot"}).code == 2);
  const std::string shown = run({"inspect", f.model()}).out;
  CAPTURE(shown);
  CHECK(shown.find("query (\"good \"), passage (\"bad film \"), the default") != std::string::npos);
  const json described = json::parse(run({"inspect", f.model(), "--json"}).out);
  CHECK(described["embedding"]["default_prompt"] == "passage");
  CHECK(described["embedding"]["prompts"][0] == json({{"name", "query"}, {"text", "good "}}));
  CHECK(described["embedding"]["excludes_prompt"] == false);
}

TEST_CASE("embed: a static embedding gives zeros for a text without tokens") {
  SentimentModel shape;
  shape.static_rows = true;
  shape.heads = false;
  const CliFixture f(shape);
  const std::string file = f.file("t.jsonl", "{\"text\": \"good unknown\"}\n{\"text\": \"\"}\n");
  const Ran ran = run({"embed", f.model(), "-i", file, "-o", "-"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const FloatArray vectors = parse_float_npy(ran.out);
  CHECK(vectors.row(0)[0] == 1);
  CHECK(vectors.row(1) == std::vector<float>(sentiment_width));
  for (const char* flag : {"--plan", "--tensors", "--memory=12"}) {
    const Ran shown = run({"inspect", f.model(), flag});
    CAPTURE(std::string(flag));
    CAPTURE(shown.err);
    CHECK(shown.code == 0);
  }
  CHECK(json::parse(run({"inspect", f.model(), "--json"}).out)["layers"].empty());
}

TEST_CASE("embed --sparse: a token's number is log(1 + its largest logit) if that logit is more than 0") {
  const CliFixture f;
  const std::vector<std::string> texts = {"good film the plot", "bad", ""};
  std::vector<std::string> arguments = {"embed", f.model(), "--sparse"};
  arguments.insert(arguments.end(), texts.begin(), texts.end());
  const Ran ran = run(arguments);
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const auto answers = json_lines(ran.out);
  REQUIRE(answers.size() == texts.size());
  for (size_t t = 0; t < texts.size(); ++t) {
    const FloatArray logits = parse_float_npy(run({"encode", f.model(), texts[t], "--what", "mlm", "-o", "-"}).out);
    std::vector<float> largest(13);
    for (size_t row = 0; row < static_cast<size_t>(logits.shape[1]); ++row) {
      for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], logits.row(row)[i]);
    }
    size_t count = 0;
    for (size_t i = 0; i < largest.size(); ++i) {
      if (largest[i] <= 0) continue;
      ++count;
      CHECK(answers[t]["tokens"].value(sentiment_words[i], -1.0) == doctest::Approx(std::log1p(largest[i])));
    }
    CHECK(answers[t]["tokens"].size() == count);
    CHECK(answers[t]["truncated"] == false);
  }
  for (const char* batch : {"1", "2"}) {
    std::vector<std::string> more = arguments;
    more.insert(more.end(), {"--batch", batch, "--threads", "2"});
    CHECK(run(more).out == ran.out);
  }
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> all = {"embed", f.model(), "good", "--sparse"};
    all.insert(all.end(), more.begin(), more.end());
    const Ran made = run(all);
    CHECK(made.code == 2);
    CHECK_MESSAGE(made.err.find(part) != std::string::npos, made.err);
  };
  refused({"-o", f.path("v.npy")}, "JSON lines");
  refused({"--output-format", "csv"}, "JSON lines");
  refused({"--pooling", "mean"}, "dense vectors");
  refused({"--on-long", "window"}, "one window");
}

}  // namespace linformer_test::embed_test
