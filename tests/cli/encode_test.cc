#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "arrays.h"
#include "base/description.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::encode_test {

using nlohmann::json;

namespace {

FloatArray encode(const CliFixture& f, const std::string& ids, const std::string& what,
                  std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"encode", f.model(), "--ids", ids, "--what", what, "-o", f.path("out.npy")});
  const Ran ran = run(more);
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  return parse_float_npy(read_file(f.path("out.npy")));
}

const std::vector<float> zeros(sentiment_width, 0.f);

}  // namespace

TEST_CASE("encode: every output has its shape, from npy and from JSON lines") {
  const CliFixture f;
  const std::string npy = f.file("ids.npy", npy_of_ids({{2, 5, 3}, {2, 6, 3}}));
  const std::string narrow = f.file("ids4.npy", npy_of_ids({{2, 5, 3}, {2, 6, 3}}, true));
  const std::string lines = f.file("ids.jsonl", "[2, 5, 3]\r\n\n[2,6,3]");
  const FloatArray hidden = encode(f, npy, "hidden");
  CHECK(hidden.shape == Shape{2, 3, 16});
  for (const std::string& same : {narrow, lines}) CHECK(encode(f, same, "hidden").values == hidden.values);
  CHECK(encode(f, npy, "hidden:1").values == hidden.values);  // post-norm: the last layer is the output
  const FloatArray embedding = encode(f, npy, "hidden:0");
  CHECK(embedding.row(1)[0] == 1);  // "good"
  CHECK(embedding.row(4)[1] == 1);  // "bad"
  const FloatArray pooled = encode(f, npy, "pooled");
  CHECK(pooled.shape == Shape{2, 16});
  CHECK(pooled.row(0) == hidden.row(0));
  CHECK(pooled.row(1) == hidden.row(3));
  const FloatArray logits = encode(f, npy, "logits");
  CHECK(logits.shape == Shape{2, 3});
  CHECK(logits.row(0)[2] == doctest::Approx(hidden.row(0)[0] - hidden.row(0)[1]));
  CHECK(encode(f, npy, "logits:topic").shape == Shape{2, 4});
  CHECK(encode(f, npy, "logits:0").values == logits.values);
  const FloatArray mlm = encode(f, npy, "mlm");
  CHECK(mlm.shape == Shape{2, 3, 13});
  CHECK(mlm.row(0)[5] == doctest::Approx(hidden.row(0)[0]));  // tied to the embedding: the row of "good"
  CHECK(mlm.row(5)[6] == doctest::Approx(hidden.row(5)[1]));
}

TEST_CASE("encode: ragged input is filled with zero rows") {
  const CliFixture f;
  const std::string ids = f.file("ids.jsonl", "[2, 5, 3]\n[2, 6, 7, 8, 3]\n[4]\n");
  const FloatArray hidden = encode(f, ids, "hidden"), mlm = encode(f, ids, "mlm");
  CHECK(hidden.shape == Shape{3, 5, 16});
  CHECK(mlm.shape == Shape{3, 5, 13});
  for (const size_t row : {3u, 4u, 11u, 12u, 13u, 14u}) {
    CHECK(hidden.row(row) == zeros);
    CHECK(mlm.row(row) == std::vector<float>(13, 0.f));
  }
  for (const size_t row : {2u, 9u, 10u}) CHECK(hidden.row(row) != zeros);
  // Each text has the same rows as alone, whatever the batch size.
  const FloatArray alone = encode(f, f.file("one.jsonl", "[2, 6, 7, 8, 3]"), "hidden");
  for (size_t i = 0; i < 5; ++i) CHECK(hidden.row(5 + i) == alone.row(i));
  for (const char* batch : {"1", "2"}) {
    CHECK(encode(f, ids, "hidden", {"--batch", batch, "--threads", "2"}).values == hidden.values);
    CHECK(encode(f, ids, "mlm", {"--batch", batch}).values == mlm.values);
  }
}

TEST_CASE("encode: padding tokens are stripped by default, and take part with --padding keep") {
  const CliFixture f;
  const std::string padded = f.file("padded.npy", npy_of_ids({{2, 5, 3, 0, 0}, {2, 6, 7, 8, 3}}));
  const std::string bare = f.file("bare.jsonl", "[2, 5, 3]\n[2, 6, 7, 8, 3]\n");
  for (const char* what : {"hidden", "mlm", "pooled", "logits"}) {
    CAPTURE(what);
    const FloatArray expected = encode(f, bare, what);
    CHECK(encode(f, padded, what).values == expected.values);
    const FloatArray kept = encode(f, padded, what, {"--padding", "keep"});
    CHECK(kept.shape == expected.shape);
    CHECK(kept.values != expected.values);
    // --pad-to has the same effect as padding tokens in the file.
    CHECK(encode(f, bare, what, {"--padding", "keep", "--pad-to", "5"}).values == kept.values);
  }
  CHECK(encode(f, padded, "hidden", {"--padding", "keep"}).row(4) != zeros);
  CHECK(encode(f, bare, "hidden", {"--pad-to", "7"}).shape == Shape{2, 7, 16});
  // A row may have more padding tokens than the model takes tokens, because they are stripped.
  std::vector<int64_t> long_row(40, 0);
  long_row[20] = 5;
  CHECK(encode(f, f.file("long.npy", npy_of_ids({long_row})), "hidden").shape == Shape{1, 40, 16});
}

TEST_CASE("encode: padding tokens in one line don't widen the array") {
  const CliFixture f;
  std::string pads, lines;
  for (int i = 0; i < 254; ++i) pads += "0,";
  for (int i = 0; i < 2000; ++i) lines += "[5]\n";
  for (const char* what : {"hidden", "mlm"}) {
    const FloatArray bare = encode(f, f.file("bare.jsonl", lines + "[5,6]\n"), what);
    const FloatArray array = encode(f, f.file("ids.jsonl", lines + "[5," + pads + "6]\n"), what);
    CHECK(array.shape == Shape{2001, 2, bare.shape[2]});
    CHECK(array.values == bare.values);
  }
  const std::string padded = f.file("padded.jsonl", "[0,0,2,0,5,3,0]\n[0,4,0]\n"),
                    plain = f.file("plain.jsonl", "[2,5,3]\n[4]\n");
  CHECK(encode(f, padded, "hidden").shape == Shape{2, 3, 16});
  CHECK(encode(f, padded, "hidden").values == encode(f, plain, "hidden").values);
  CHECK(encode(f, padded, "hidden", {"--pad-to", "5"}).shape == Shape{2, 5, 16});
  CHECK(encode(f, padded, "hidden", {"--padding", "keep"}).shape == Shape{2, 7, 16});
  // Texts may contain padding tokens too.
  const Ran texts = run({"encode", f.model(), "[PAD] good [PAD] [PAD]", "good", "-o", "-"});
  CHECK(parse_float_npy(texts.out).shape == Shape{2, 3, 16});
}

TEST_CASE("encode: ids are read from a pipe, and the array is written to one") {
  const CliFixture f;
  const Ran from_npy = run({"encode", f.model(), "--ids", "-", "-o", "-"}, npy_of_ids({{2, 5, 3}}));
  CHECK(from_npy.code == 0);
  const Ran from_lines = run({"encode", f.model(), "--ids", "-", "-o", "-"}, "[2,5,3]\n");
  CHECK(from_lines.out == from_npy.out);
  CHECK(parse_float_npy(from_npy.out).shape == Shape{1, 3, 16});
  CHECK(parse_float_npy(run({"encode", f.model(), "--ids", "-", "-o", "-"}, "").out).shape == Shape{0, 0, 16});
}

TEST_CASE("encode: texts are tokenized, and long ones are cut or refused") {
  const CliFixture f;
  const Ran texts = run({"encode", f.model(), "good", "a bad film", "-o", "-"});
  const FloatArray expected = encode(f, f.file("ids.jsonl", "[2,5,3]\n[2,8,6,7,3]\n"), "hidden");
  CHECK(parse_float_npy(texts.out).values == expected.values);
  const Ran file = run({"encode", f.model(), "-i", f.file("t.txt", "good\na bad film\n"), "-o", "-"});
  CHECK(parse_float_npy(file.out).values == expected.values);
  std::string long_text;
  for (int i = 0; i < 30; ++i) long_text += "film ";
  const Ran cut = run({"encode", f.model(), long_text, "-o", "-"});
  CHECK(cut.code == 0);
  CHECK(parse_float_npy(cut.out).shape == Shape{1, 12, 16});
  CHECK(cut.err == "linformer: 1 of 1 texts cut to 12 tokens\n");
  CHECK(run({"encode", f.model(), long_text, "-o", "-", "--on-long", "error"}).code == 1);
  const Ran bad = run({"encode", f.model(), "-i", f.file("b.jsonl", "{\"text\":\"a\"}\n{\n"), "-o", f.path("no.npy")});
  CHECK(bad.code == 1);
  CHECK(bad.err.find("b.jsonl:2:") != std::string::npos);
}

TEST_CASE("encode: wrong input gives one line, exit code 1 and no file") {
  const CliFixture f;
  const std::string bad[] = {npy_of_ids({{2, 13, 3}}),
                             npy_of_ids({{2, -1, 3}}),
                             npy_of_ids({{int64_t{1} << 32, 5}}),
                             npy_of_ids({{0, 0, 0}}),
                             npy_of_ids({std::vector<int64_t>(13, 5)}),
                             npy_of_ids({{2, 5}}) + "x",
                             "[2, 13]\n",
                             "[]\n",
                             "[2, 1.5]\n",
                             "[\"a\"]\n",
                             "[[2]]\n",
                             "{}\n",
                             "7\n",
                             "[2, 5\n",
                             "[99999999999999999999]\n",
                             "\x93NUMPY",
                             "\x93"};
  for (const std::string& content : bad) {
    CAPTURE(content.substr(0, 100));
    const Ran ran = run({"encode", f.model(), "--ids", f.file("ids", content), "-o", f.path("out.npy")});
    CHECK(ran.code == 1);
    CHECK(lines_of(ran.err).size() == 1);
  }
  CHECK(f.entry_count() == 2);
  const Ran place = run({"encode", f.model(), "--ids", f.file("ids", "[2]\n[2,13]\n"), "-o", f.path("out.npy")});
  CHECK(place.err.find("ids:2, token 1: id 13 is outside the vocabulary of 13") != std::string::npos);
  // Each padding token in an array would be a row of the output for every text. Therefore the number of tokens with
  // their padding is limited too.
  std::vector<int64_t> padded(500001, 0);
  padded[0] = 5;
  const std::string pads = npy_of_ids({padded}, true);
  for (const char* what : {"hidden", "mlm", "hidden:0"}) {
    const Ran ran = run({"encode", f.model(), "--ids", f.file("ids", pads), "--what", what, "-o", f.path("out.npy")});
    CHECK(ran.code == 1);
    CHECK(ran.err.find("text 1 has 500001 tokens with its pads, and at most 48 are allowed") != std::string::npos);
  }
  CHECK(f.entry_count() == 2);
  CHECK(encode(f, f.file("ids", pads), "pooled").shape == Shape{1, 16});
  CHECK(encode(f, f.file("ids", npy_of_ids({{2, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}})), "hidden").shape ==
        Shape{1, 12, 16});
  // --padding keep counts pads as tokens.
  CHECK(run({"encode", f.model(), "--ids", f.file("ids", npy_of_ids({std::vector<int64_t>(13, 0)})), "-o",
             f.path("out.npy"), "--padding", "keep"})
            .code == 1);
}

TEST_CASE("encode: unknown outputs, missing arguments and missing model parts are refused") {
  const CliFixture f;
  const std::string ids = f.file("ids.jsonl", "[2, 5, 3]\n");
  for (const char* what : {"nothing", "hidden:", "hidden:2", "hidden:-1", "hidden:x", "logits:absent", "mlm:0", ""}) {
    CAPTURE(what);
    CHECK(run({"encode", f.model(), "--ids", ids, "--what", what, "-o", f.path("o.npy")}).code == 2);
  }
  CHECK(run({"encode", f.model(), "-o", f.path("o.npy")}).code == 2);
  CHECK(run({"encode", f.model(), "--ids", ids}).code == 2);
  CHECK(run({"encode", f.model(), "--ids", ids, "a", "-o", f.path("o.npy")}).code == 2);
  const CliFixture bare({.tokenizer = false, .heads = false});
  CHECK(run({"encode", bare.model(), "--ids", ids, "-o", "-"}).code == 0);
  CHECK(run({"encode", bare.model(), "--ids", ids, "--what", "pooled", "-o", "-"}).code == 0);
  CHECK(run({"encode", bare.model(), "--ids", ids, "--what", "logits", "-o", "-"}).code == 1);
  CHECK(run({"encode", bare.model(), "a", "-o", "-"}).code == 1);
}

TEST_CASE("encode: the output replaces an existing file completely or not at all") {
  const CliFixture f;
  const std::string ids = f.file("ids.jsonl", "[2, 5, 3]\n"), out = f.file("out.npy", "old");
  CHECK(run({"encode", f.model(), "--ids", f.path("absent"), "-o", out}).code == 1);
  CHECK(read_file(out) == "old");
  std::filesystem::create_symlink(out, f.path("link.npy"));
  CHECK(run({"encode", f.model(), "--ids", ids, "-o", f.path("link.npy")}).code == 0);
  CHECK(std::filesystem::is_symlink(f.path("link.npy")));
  CHECK(parse_float_npy(read_file(out)).shape == Shape{1, 3, 16});
  CHECK(run({"encode", f.model(), "--ids", ids, "-o", f.path("absent/out.npy")}).code == 1);
  CHECK(f.entry_count() == 4);
}

}  // namespace linformer_test::encode_test
