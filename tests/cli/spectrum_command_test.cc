// Tests the command `linformer spectrum`.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "base/description.h"
#include "process.h"
#include "research/spectrum_lapack.h"
#include "sentiment_model.h"
#include "support/random_model.h"
#include "support/skip.h"

namespace linformer_test::spectrum_command_test {

using namespace linformer;
using nlohmann::json;

namespace {

using Options = std::vector<std::string>;

bool skipped() {
  if (research::lapack_problem().empty()) return false;
  linformer_test::skip(research::lapack_problem());
  return true;
}

constexpr uint32_t width = 16;

RandomModel full_attention() {
  RandomModel shape;
  shape.n = 16;
  shape.d_model = width;
  shape.heads = 2;
  shape.ffn = 24;
  shape.vocabulary = static_cast<uint32_t>(sentiment_words.size());
  shape.kinds = {ProjectionKind::none};
  shape.pad = shape.fairseq_positions = false;
  shape.head_classes = {};
  shape.masked_lm = false;
  return shape;
}

// Writes a random model with the vocabulary of the sentiment model.
void write_model(const std::string& path, const RandomModel& shape,
                 const std::function<void(writer::ModelBuilder*)>& change = {}) {
  writer::ModelBuilder builder = random_builder(shape);
  std::string bytes;
  std::vector<uint32_t> offsets = {0};
  for (const std::string& word : sentiment_words) {
    bytes += word;
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
  }
  TokenizerDescription& tokenizer = builder.description.tokenizer;
  tokenizer.kind = TokenizerKind::wordpiece;
  tokenizer.token_bytes = bytes;
  tokenizer.token_offsets = offsets;
  tokenizer.unk = 1;
  tokenizer.bos = 2;
  tokenizer.eos = 3;
  tokenizer.single_template = {2, template_first, 3};
  tokenizer.pair_template = {2, template_first, 3, template_second, 3};
  tokenizer.lowercase = true;
  tokenizer.continuing_prefix = "##";
  if (change) change(&builder);
  builder.write(path);
}

// Changes the model so that its one head attends only to tokens equal to the query's.
void attend_to_equals(writer::ModelBuilder* builder) {
  EncoderDescription& encoder = builder->description.encoder;
  std::vector<float> one_hot(sentiment_words.size() * width), identity(size_t{width} * width);
  for (size_t i = 0; i < sentiment_words.size(); ++i) one_hot[i * width + i] = 1;
  for (size_t i = 0; i < width; ++i) identity[i * width + i] = 1;
  encoder.embedding.tokens =
      builder->add_table("one hot", {static_cast<uint32_t>(sentiment_words.size()), width}, one_hot);
  AttentionDescription& attention = encoder.layers[0].attention;
  attention.query = attention.key = {builder->add_linear("identity", width, width, identity), absent};
  attention.scale = 1000;
}

RandomModel equals_shape() {
  RandomModel shape = full_attention();
  shape.heads = shape.layers = 1;
  shape.position_kind = PositionKind::none;
  shape.embedding_norm = false;
  return shape;
}

json measured(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), "spectrum");
  arguments.push_back("--json");
  const Ran ran = run(arguments, input);
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  return json::parse(ran.out);
}

void check_numbers(const json& found, const std::vector<double>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(found[i].get<double>() - wanted[i]) < 1e-12);
}

// Returns what is wrong with `xml`, or "" if nothing is. Every tag must be closed in order, attributes must be quoted,
// and there must be no stray < or &.
std::string xml_error(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&') {
      const std::string entity = xml.substr(i, xml.find(';', i) - i + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return "entity " + entity;
    }
    if (xml[i] != '<') continue;
    size_t end = i + 1;
    for (bool quoted = false; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      if (xml[end] == '<') return "a < inside a tag";
    }
    if (end >= xml.size()) return "a tag without end";
    const std::string tag = xml.substr(i + 1, end - i - 1), name = tag.substr(0, tag.find_first_of(" \n/", 1));
    i = end;
    if (tag[0] == '!') continue;
    if (tag[0] == '/') {
      if (open.empty() || tag.substr(1) != open.back()) return "</" + tag.substr(1) + "> closes another tag";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is open";
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("spectrum: attention with known singular values has these values" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const Folder folder;
  const std::string model = folder.path("equals.lnfr");
  write_model(model, equals_shape(), attend_to_equals);
  // The attention matrix of eight different tokens is the identity.
  const json identity = measured({model, "--ids", "-", "--max-tokens", "8"}, "[4,5,6,7,8,9,10,11]\n");
  const json& head = identity["layers"][0]["heads"][0];
  check_numbers(head["singular_values"], {1, 1, 1, 1, 1, 1, 1, 1});
  check_numbers(head["share"], {.125, .25, .375, .5, .625, .75, .875, 1});
  CHECK(identity["rank"] == 2);
  CHECK(head["share_at_rank"].get<double>() == doctest::Approx(0.25));
  CHECK(head["k"] == 8);
  // The attention matrix of four pairs of equal tokens has blocks of 0.5. The numbers of both texts are their mean.
  const json pairs = measured({model, "--ids", "-", "--max-tokens", "8", "--share", "0.7"}, "[4,4,5,5,6,6,7,7]\n");
  check_numbers(pairs["layers"][0]["heads"][0]["singular_values"], {1, 1, 1, 1, 0, 0, 0, 0});
  CHECK(pairs["layers"][0]["heads"][0]["k"] == 3);
  const json both =
      measured({model, "--ids", "-", "--max-tokens", "8", "--rank", "3"}, "[4,5,6,7,8,9,10,11]\n[4,4,5,5,6,6,7,7]\n");
  CHECK(both["texts"] == 2);
  check_numbers(both["layers"][0]["heads"][0]["singular_values"], {1, 1, 1, 1, .5, .5, .5, .5});
  CHECK(both["layers"][0]["heads"][0]["share_at_rank"].get<double>() == doctest::Approx((0.375 + 0.75) / 2));

  // Without queries, every row attends to all rows equally.
  write_model(folder.path("uniform.lnfr"), full_attention(), [](writer::ModelBuilder* builder) {
    for (LayerDescription& layer : builder->description.encoder.layers) {
      layer.attention.query = {builder->add_linear("zero", width, width, std::vector<float>(width * width)), absent};
    }
  });
  const json uniform = measured({folder.path("uniform.lnfr"), "-", "--max-tokens", "4"}, "good bad film\n");
  CHECK(uniform["mean_k"] == 1);
  for (const json& layer : uniform["layers"]) {
    for (const json& each : layer["heads"]) check_numbers(each["singular_values"], {1, 0, 0, 0});
  }
}

TEST_CASE("spectrum: texts are joined and cut, or kept apart" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const Folder folder;
  const std::string model = folder.path("model.lnfr");
  write_model(model, full_attention());
  const std::string lines = folder.file("a.txt", "good film .\nbad plot\n\nthe film , a good plot .\n");  // 12 words
  const json joined = measured({model, "-i", lines, "--max-tokens", "7"});
  CHECK(joined["texts"] == 2);
  CHECK(joined["tokens"] == 7);
  CHECK(joined["text"] == "a.txt");
  const json ids = measured({model, "--ids", "-", "--max-tokens", "7"}, "[2,5,7,10,6,12,3]\n[2,9,7,11,8,5,3]\n");
  CHECK(joined["layers"] == ids["layers"]);
  CHECK(measured({model, "-i", lines, "--max-tokens", "7", "--limit", "1"})["texts"] == 1);
  CHECK(measured({model, "-i", lines, lines, "--max-tokens", "7", "--limit", "0"})["texts"] == 4);  // 24 words

  const std::string records =
      folder.file("a.jsonl", "{\"t\": \"good film .\"}\n{\"t\": \"bad\"}\n{\"t\": \"the film , a\"}\n");
  const Ran apart = run({"spectrum", model, "-i", records, "--field", "t", "--apart", "--max-tokens", "5", "--json"});
  CHECK(apart.code == 0);
  CHECK(apart.err == "linformer: 1 of the texts are too short for 5 tokens and left out\n");
  CHECK(json::parse(apart.out)["layers"] ==
        measured({model, "--ids", "-", "--max-tokens", "5"}, "[2,5,7,10,3]\n[2,9,7,11,3]\n")["layers"]);
  // A text on the command line is one record. The name of a file is read as a text there, and a note says so.
  const json typed = measured({model, "good film . bad plot the film , a good plot .", "--max-tokens", "7"});
  CHECK(typed["layers"] == joined["layers"]);
  CHECK(typed["text"] == "the command line");
  const std::string note = run({"spectrum", model, lines}).err;
  CHECK(note.find("a.txt' is read as a text; to read the file of that name: --input") != std::string::npos);
  // A short text lowers n if --max-tokens isn't given.
  CHECK(measured({model, "-"}, "good film\n")["tokens"] == 4);
  CHECK(measured({model, "-i", lines})["tokens"] == 14);
  CHECK(measured({model, "-i", lines, "--threads", "1"})["layers"] ==
        measured({model, "-i", lines, "--threads", "4"})["layers"]);

  RandomModel padded = full_attention();
  padded.pad = true;  // id 1
  write_model(folder.path("padded.lnfr"), padded);
  CHECK(measured({folder.path("padded.lnfr"), "--ids", "-", "--max-tokens", "3"}, "[2,1,5,1,1,3]\n")["layers"] ==
        measured({folder.path("padded.lnfr"), "--ids", "-", "--max-tokens", "3"}, "[2,5,3]\n")["layers"]);
}

TEST_CASE("spectrum: tables, CSV and pictures are complete and well-formed" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const Folder folder;
  const std::string model = folder.path("a<b>&\"c\".lnfr"), text = folder.file("t&<t>.txt", "good film . bad plot ,\n");
  write_model(model, full_attention());
  const std::string csv = folder.path("out.csv"), svg = folder.path("out.svg"), html = folder.path("out.html");
  const Ran ran = run({"spectrum", model, "-i", text, "--csv", csv, "--svg", svg, "--html", html, "--rank", "3"});
  REQUIRE(ran.code == 0);
  CHECK(ran.err == "");
  CHECK(ran.out.find("1 text of 8 tokens (t&<t>.txt)") != std::string::npos);
  CHECK(ran.out.find("the first 3 of 8 singular values") != std::string::npos);
  CHECK(ran.out.find("k that keeps 90 % of the sum") != std::string::npos);
  CHECK(lines_of(ran.out).size() == 2 + 2 * (1 + 1 + 2 + 1) + 1);

  const json numbers = measured({model, "-i", text, "--rank", "3"});
  CHECK(numbers["layers"].size() == 2);
  const std::vector<std::string> rows = lines_of(content(csv));
  REQUIRE(rows.size() == 1 + 2 * 2 * 8);
  CHECK(rows[0] == "layer,head,index,singular_value,share");
  const json& head = numbers["layers"][1]["heads"][0];
  CHECK(rows[1 + 2 * 8 + 3] == "1,0,4," + head["singular_values"][3].dump() + "," + head["share"][3].dump());
  CHECK(run({"spectrum", model, "-i", text, "--csv", "-"}).out == content(csv));

  const std::string drawn = content(svg), page = content(html);
  CHECK(xml_error(drawn) == "");
  CHECK(xml_error(page) == "");
  CHECK(xml_error("<a><b></a>") != "");
  CHECK(page.find(drawn) != std::string::npos);
  CHECK(run({"spectrum", model, "-i", text, "--svg", "-", "--rank", "3"}).out == drawn);
  CHECK(count(drawn, "<polyline") == 2);     // a curve for each layer
  CHECK(count(drawn, "head 1: 0.") == 2);    // cells of the heatmap
  CHECK(count(drawn, "head 1: k = ") == 2);  // cells of the table
  CHECK(drawn.find("a&lt;b&gt;&amp;&quot;c&quot;.lnfr") != std::string::npos);
  CHECK(drawn.find("prefers-color-scheme:dark") != std::string::npos);
  CHECK(count(page, "http") == 1);  // the namespace of SVG, which nothing fetches
  for (const char* part : {"<script", "href", "url(", "@import", "nan", "inf\""}) {
    CAPTURE(std::string(part));
    CHECK(page.find(part) == std::string::npos);
  }
}

TEST_CASE("spectrum: pictures of many layers and heads are complete" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const Folder folder;
  RandomModel shape = full_attention();
  shape.layers = 30;
  shape.heads = 16;
  write_model(folder.path("model.lnfr"), shape);
  const Ran ran = run({"spectrum", folder.path("model.lnfr"), "-", "--svg", "-"}, "good bad film\n");
  REQUIRE(ran.code == 0);
  CHECK(xml_error(ran.out) == "");
  CHECK(count(ran.out, "<polyline") == 30);
  CHECK(count(ran.out, ": k = ") == 30 * 16);
}

TEST_CASE("spectrum --error: attention of known rank has that k, at several lengths" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const Folder folder;
  const std::string model = folder.path("equals.lnfr");
  write_model(model, equals_shape(), attend_to_equals);
  // The attention matrix of four pairs of equal tokens has rank 4, and that of their first half has rank 2.
  const std::string pairs = "[4,4,5,5,6,6,7,7]\n";
  const auto approximated = [&](std::vector<std::string> rest, const std::string& ids) {
    rest.insert(rest.begin(), {model, "--ids", "-"});
    return measured(rest, ids);
  };
  const json report = approximated({"--error", "0.00001", "--max-tokens", "8,4,8"}, pairs);
  REQUIRE(report["lengths"].size() == 2);
  CHECK(report["texts"] == 1);
  CHECK(report["draws"] == 5);
  CHECK(report["lengths"][0]["n"] == 4);
  CHECK(report["lengths"][1]["n"] == 8);
  CHECK(report["lengths"][1]["d"] == width);
  CHECK(report["lengths"][0]["singular"] == json({{"half", 2}, {"all", 2}}));
  CHECK(report["lengths"][1]["singular"] == json({{"half", 4}, {"all", 4}}));
  CHECK(report["lengths"][1]["layers"][0]["heads"][0]["singular"] == 4);
  // No random projection has such a small error.
  CHECK(report["lengths"][1]["projected"] == json({{"half", nullptr}, {"all", nullptr}}));
  CHECK(report["lengths"][1]["layers"][0]["heads"][0]["projected"].is_null());
  // The numbers of each length equal those of the text's beginning alone.
  CHECK(report["lengths"][0] == approximated({"--error", "0.00001", "--max-tokens", "4"}, "[4,4,5,5]\n")["lengths"][0]);

  // 5 ln(8) / (0.25 - 0.125) = 83.2 and 5 ln(8) / 0.25 = 41.6
  const json half = approximated({"--error", "0.5", "--max-tokens", "8"}, pairs)["lengths"][0];
  CHECK(half["theorem_1"] == json({{"k", 84}, {"columns_within", nullptr}}));
  CHECK(half["theorem_2"] == json({{"k", 42}, {"rows_within", nullptr}}));

  // A text keeps its special tokens at each length.
  write_model(folder.path("words.lnfr"), full_attention());
  const std::vector<std::string> words = {folder.path("words.lnfr"), "good film . bad plot", "--error", "0.9"};
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const json several = measured(with(words, {"--max-tokens", "4,7"}));
  CHECK(several["lengths"][0] ==
        measured({words[0], "--ids", "-", "--error", "0.9", "--max-tokens", "4"}, "[2,5,7,3]\n")["lengths"][0]);
  CHECK(several["lengths"][1]["layers"].size() == 2);
  // The number of threads doesn't change the numbers, and the seed changes those of random projections.
  const std::vector<std::string> csv = with(words, {"--csv", "-"});
  const auto printed = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = with(csv, more);
    arguments.insert(arguments.begin(), "spectrum");
    return run(arguments).out;
  };
  CHECK(printed({"--threads", "1"}) == printed({"--threads", "4"}));
  CHECK(printed({"--seed", "0"}) == printed({}));
  CHECK(printed({"--seed", "1"}) != printed({}));
  CHECK(printed({"--draws", "1"}) != printed({}));
  CHECK(lines_of(printed({"--max-tokens", "4,7"})).size() == 1 + 2 * 2 * (4 + 7));
}

TEST_CASE("spectrum --error: tables, CSV and pictures are complete and well-formed" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const Folder folder;
  const std::string model = folder.path("a<b>&\"c\".lnfr"), text = folder.file("t&<t>.txt", "good film . bad plot ,\n");
  write_model(model, full_attention());
  const std::string csv = folder.path("out.csv"), svg = folder.path("out.svg"), html = folder.path("out.html");
  const Ran ran = run({"spectrum", model, "-i", text, "--error", "0.75", "--max-tokens", "4,8", "--csv", csv, "--svg",
                       svg, "--html", html});
  REQUIRE(ran.code == 0);
  CHECK(ran.err == "");
  for (const char* part : {"relative error of P V at 0.75", "1 text of 4 and 8 tokens (t&<t>.txt)", "theorem 1",
                           "Projected k of n = 8", "mean over 5 draws of it (seed 0)", "Singular k of n = 8", ">8"}) {
    CAPTURE(std::string(part));
    CHECK(ran.out.find(part) != std::string::npos);
  }
  const std::vector<std::string> rows = lines_of(content(csv));
  REQUIRE(rows.size() == 1 + 2 * 2 * (4 + 8));
  CHECK(rows[0] == "n,layer,head,k,projected_error,columns_within,rows_within,singular_error");
  CHECK(rows[4].starts_with("4,0,0,4,"));
  CHECK(rows[4].ends_with(",0"));  // with all singular values no error remains
  CHECK(rows.back().starts_with("8,1,1,8,"));

  const std::string drawn = content(svg), page = content(html);
  CHECK(xml_error(drawn) == "");
  CHECK(xml_error(page) == "");
  CHECK(page.find(drawn) != std::string::npos);
  CHECK(drawn.find("a&lt;b&gt;&amp;&quot;c&quot;.lnfr") != std::string::npos);
  CHECK(drawn.find("theorem 1, n 8: k = 74") != std::string::npos);      // 5 ln(8) / (0.5625 - 0.421875) = 73.9
  CHECK(drawn.find("theorem 2, layer 1: k = 19") != std::string::npos);  // 5 ln(8) / 0.5625 = 18.5
  CHECK(count(drawn, "singular, half, n ") == 2);
  CHECK(count(drawn, "singular, all, layer ") == 2);
  for (const char* part : {"<script", "href", "url(", "@import", "nan", "inf\""}) {
    CAPTURE(std::string(part));
    CHECK(page.find(part) == std::string::npos);
  }
  // With one length and one layer, no curve joins the marks.
  RandomModel single = full_attention();
  single.layers = single.heads = 1;
  write_model(folder.path("single.lnfr"), single);
  const Ran points = run({"spectrum", folder.path("single.lnfr"), "-i", text, "--error", "0.00001", "--svg", "-"});
  CHECK(points.code == 0);
  CHECK(xml_error(points.out) == "");
  CHECK(points.out.find("nan") == std::string::npos);
}

TEST_CASE("spectrum: compressed models, wrong options and short texts are refused") {
  const Folder folder;
  const CliFixture linear;
  const std::string text = folder.file("a.txt", "good film\n");
  const Ran compressed = run({"spectrum", linear.model(), "-i", text});
  CHECK(compressed.code == 1);
  CHECK(compressed.err.find("compresses its keys to k = 4 rows already") != std::string::npos);
  CHECK(compressed.err.find("give a model with full attention") != std::string::npos);

  const std::string model = folder.path("model.lnfr"), bare = folder.path("bare.lnfr");
  write_model(model, full_attention());
  if (const std::string problem = research::lapack_problem(); !problem.empty()) {
    const Ran without = run({"spectrum", model, "-i", text});
    CHECK(without.code == 1);
    CHECK(without.err == "linformer: " + problem + "\n");
    return;
  }
  random_builder(full_attention()).write(bare);
  CHECK(run({"spectrum", bare, "-i", text}).err.find("has no tokenizer") != std::string::npos);
  const auto code = [&](std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"spectrum", model});
    const Ran ran = run(arguments, input);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.out == "");
    return ran.code;
  };
  CHECK(code({}) == 2);
  CHECK(code({"-i", text, "--ids", "-"}) == 2);
  CHECK(code({"-i", text, "--max-tokens", "17"}) == 2);
  CHECK(code({"-i", text, "--max-tokens", "2"}) == 2);  // only the special tokens fit
  CHECK(code({"-i", text, "--rank", "5"}) == 2);
  CHECK(code({"-i", text, "--share", "1.5"}) == 2);
  CHECK(code({"-i", text, "--share", "nan"}) == 2);
  CHECK(code({"-i", text, "--json", "--svg", "-"}) == 2);
  for (const char* error :
       {"nan", "-nan", "inf", "-inf", "0", "-0", "1", "1.5", "-0.5", "1e-9", "1e-320", "1e999", "0.5x", "x", ""}) {
    CAPTURE(std::string(error));
    CHECK(code({"-i", text, "--error", error}) == 2);
  }
  for (const Options& more : {Options{"--seed", "-1"},
                              {"--seed", "1.5"},
                              {"--seed", ""},
                              {"--seed", "99999999999999999999"},
                              {"--draws", "0"},
                              {"--draws", "1001"},
                              {"--draws", ""},
                              {"--rank", "1"},
                              {"--share", "0.5"},
                              {"--max-tokens", "4,17"},
                              {"--max-tokens", "4,2"},
                              {"--max-tokens", "4,x"},
                              {"--max-tokens", "4,nan"},
                              {"--max-tokens", ""}}) {
    CAPTURE(more[0] + " " + more[1]);
    CHECK(code({"-i", text, "--error", "0.5", more[0], more[1]}) == 2);
  }
  CHECK(code({"-i", text, "--error", "0.5", "--max-tokens", "4,8"}) == 1);  // more tokens than the text has
  CHECK(code({"-i", text, "--max-tokens", "3,4"}) == 2);
  CHECK(code({"-i", text, "--draws", "3"}) == 2);
  CHECK(code({"-i", text, "--seed", "3"}) == 2);
  CHECK(code({"-i", text, "--max-tokens", "8"}) == 1);  // more tokens than the text has
  CHECK(code({"-i", text, "--apart"}) == 1);
  CHECK(code({"-"}, "") == 1);
  CHECK(code({"-", "--format", "jsonl"}, "{\"text\": 3}\n") == 1);
  CHECK(code({"--ids", "-"}, "[4, 99]\n") == 1);
  CHECK(code({"-i", folder.path("missing.txt")}) == 1);
  CHECK(code({"-i", text, "--svg", folder.path("no/folder.svg")}) == 1);
  CHECK(folder.entry_count() == 3);
  const Ran help = run({"spectrum", "--help"});
  CHECK(help.code == 0);
  for (const char* option :
       {"MODEL", "TEXT", "--max-tokens", "--limit", "--rank", "--share", "--error", "--json", "--csv", "--svg"}) {
    CAPTURE(std::string(option));
    CHECK(help.out.find(option) != std::string::npos);
  }
}

}  // namespace linformer_test::spectrum_command_test
