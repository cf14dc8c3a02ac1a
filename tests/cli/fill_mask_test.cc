#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "answers/filled_masks.h"
#include "arrays.h"
#include "base/description.h"
#include "linformer/model.h"
#include "process.h"
#include "sentiment_model.h"
#include "text/tokenizer_factory.h"

namespace linformer_test::fill_mask_test {

using nlohmann::json;

TEST_CASE("fill-mask: each mask gets its likeliest tokens, with probabilities over the whole vocabulary") {
  const CliFixture f;
  const Ran ran =
      run({"fill-mask", f.model(), "good [MASK] film [MASK] good", "bad bad [MASK] .", "--json", "--top-k", "13"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "");
  const auto answers = json_lines(ran.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["filled"] == "good good film good good");
  CHECK(answers[1]["filled"] == "bad bad bad.");
  const FloatArray logits = parse_float_npy(
      run({"encode", f.model(), "--ids", f.file("i", "[2,5,4,7,4,5,3]"), "--what", "mlm", "-o", "-"}).out);
  REQUIRE(answers[0]["masks"].size() == 2);
  for (size_t m = 0; m < 2; ++m) {
    const json& mask = answers[0]["masks"][m];
    const size_t position = m == 0 ? 2 : 4;
    CHECK(mask["position"] == position);
    REQUIRE(mask["tokens"].size() == 13);
    const std::vector<float> row = logits.row(position);
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit));
    double last = 1;
    for (const json& token : mask["tokens"]) {
      const size_t id = token["id"].get<size_t>();
      const double probability = token["probability"].get<double>();
      CHECK(token["token"] == sentiment_words[id]);
      CHECK(probability == doctest::Approx(std::exp(static_cast<double>(row[id])) / sum).epsilon(1e-6));
      CHECK(probability <= last);
      last = probability;
    }
  }
  // The text of a candidate has the candidate in its mask and the best token in the other mask.
  CHECK(answers[0]["masks"][1]["tokens"][0]["text"] == "good good film good good");
  const json& other = answers[0]["masks"][0]["tokens"][1];
  if (other["id"].get<int>() > 4) {
    CHECK(other["text"] == "good " + other["token"].get<std::string>() + " film good good");
  }
  CHECK(json_lines(run({"fill-mask", f.model(), "good [MASK]", "--json"}).out)[0]["masks"][0]["tokens"].size() == 5);
}

TEST_CASE("fill-mask: <mask> means the tokenizer's mask token if the tokenizer has no token <mask>") {
  const CliFixture f;
  const auto fill = [&](const std::string& text) {
    return json_lines(run({"fill-mask", f.model(), text, "--json"}).out).at(0);
  };
  CHECK(fill("good <mask> .") == fill("good [MASK] ."));
  CHECK(fill("good <mask> [MASK]")["masks"].size() == 2);
}

TEST_CASE("fill-mask: files and pairs are answered as JSON, tab-separated lines and a table") {
  const CliFixture f;
  const std::string file = f.file("t.jsonl",
                                  "{\"k\":\"x\",\"a\":\"bad [MASK]\",\"b\":\"bad\"}\n"
                                  "{\"k\":\"y\",\"a\":\"no mask\",\"b\":\"here\"}\n"
                                  "{\"k\":\"z\",\"a\":\"good\",\"b\":\"[MASK] good\"}\n");
  const std::vector<std::string> arguments = {"fill-mask", f.model(), "-i",   file, "--field", "a",
                                              "--pair",    "b",       "--id", "k",  "--top-k", "2"};
  const auto with = [&](const std::string& flag) {
    std::vector<std::string> all = arguments;
    all.push_back(flag);
    return run(all);
  };
  const Ran ran = with("--json");
  CHECK(ran.code == 1);
  CHECK(ran.err == "linformer: 1 of 3 records bad\n");
  const auto answers = json_lines(ran.out);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0]["masks"][0]["tokens"][0]["token"] == "bad");
  CHECK(answers[1]["error"].get<std::string>().find("write [MASK] where a word is missing") != std::string::npos);
  CHECK(answers[2]["masks"][0]["position"] == 3);
  CHECK(answers[2]["id"] == "z");

  const auto tsv = lines_of(run(arguments).out);
  REQUIRE(tsv.size() == 5);
  CHECK(tsv[0].rfind("x\t1\t1\tbad\t0.", 0) == 0);
  CHECK(tsv[1].rfind("x\t1\t2\t", 0) == 0);
  CHECK(tsv[2].rfind("y\t-\t-\tERROR\t\t", 0) == 0);
  const auto table = lines_of(with("--table").out);
  REQUIRE(table.size() == 6);
  CHECK(table[0].find("token") == table[1].find("bad"));
  CHECK(table[0].find("text") == table[1].find("bad bad"));

  CHECK(json_lines(run({"fill-mask", f.model(), "-", "--json"}, "good [MASK]\nbad [MASK]\n").out).size() == 2);
  std::string many;
  for (int i = 0; i < 50; ++i) many += i % 2 == 0 ? "good [MASK] film\n" : "[MASK] bad\n";
  const Ran all = run({"fill-mask", f.model(), "-", "--json", "--batch", "16"}, many);
  CHECK(json_lines(all.out).size() == 50);
  CHECK(run({"fill-mask", f.model(), "-", "--json", "--batch", "1"}, many).out == all.out);
}

TEST_CASE("fill-mask: --keep puts the input's own fields before each candidate") {
  const CliFixture f;
  const std::string file = f.file("t.jsonl",
                                  "{\"k\":\"x\",\"text\":\"bad [MASK]\",\"masks\":[]}\n"
                                  "{\"k\":\"y\",\"text\":\"no mask\",\"masks\":1.50}\n");
  const Ran lines = run({"fill-mask", f.model(), "-i", file, "--top-k", "2", "--keep", "all", "--json"});
  CHECK(lines.code == 1);
  const auto answers = json_lines(lines.out);
  REQUIRE(answers.size() == 2);
  CHECK(lines_of(lines.out)[0].starts_with(
      R"({"k":"x","text":"bad [MASK]","masks":[],"id":1,"filled":"bad bad","linformer_masks":[{"position":2,)"));
  CHECK(answers[0]["linformer_masks"][0]["tokens"].size() == 2);
  CHECK(answers[0]["tokens"] == 4);
  CHECK(lines_of(lines.out)[1].starts_with(R"({"k":"y","text":"no mask","masks":1.50,"id":2,"error":)"));

  const auto rows =
      lines_of(run({"fill-mask", f.model(), "-i", file, "--top-k", "2", "--keep", "masks,k", "--id", "k"}).out);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0] == "masks\tk\tid\tmask\trank\ttoken\tprobability\ttext\terror");
  CHECK(rows[1].starts_with("[]\tx\tx\t1\t1\tbad\t0."));
  CHECK(rows[2].starts_with("[]\tx\tx\t1\t2\t"));
  CHECK(rows[3].starts_with("1.50\ty\ty\t\t\t\t\t\tthere is no mask in the text"));

  // The kept fields of a text with many masks are printed once, so that the output doesn't grow with the product of
  // masks and fields.
  std::string many;
  for (size_t i = 0; i <= linformer::cli::max_masks_with_texts; ++i) many += "[MASK] ";
  const std::string table = f.file("m.csv", "k,text\nmine," + many + "\n");
  const CliFixture wide({.max_tokens = 30});
  const auto once = lines_of(
      run({"fill-mask", wide.model(), "-i", table, "--top-k", "1", "--keep", "k", "--output-format", "csv"}).out);
  REQUIRE(once.size() == linformer::cli::max_masks_with_texts + 2);
  CHECK(once[0].starts_with("k,id,mask,"));
  CHECK(once[1].starts_with("mine,1,1,1,"));
  CHECK(once[2].starts_with(",1,2,1,"));

  const Ran columns = run({"fill-mask", f.model(), "-i", file, "--keep", "all"});
  CHECK(columns.code == 2);
  CHECK(columns.err.find("--keep all: each record of JSON lines may have other fields") != std::string::npos);
}

TEST_CASE("fill-mask: --side tail keeps the end of a text that is cut") {
  const CliFixture f;
  std::string words;
  for (int i = 0; i < 20; ++i) words += "film ";
  const json end = json_lines(run({"fill-mask", f.model(), words + "[MASK]", "--side", "tail", "--json"}).out).at(0);
  CHECK(end["truncated"] == true);
  REQUIRE(end["masks"].size() == 1);
  CHECK(end["masks"][0]["position"] == end["tokens"].get<int>() - 2);
  CHECK(run({"fill-mask", f.model(), "[MASK] " + words, "--side", "tail"}).code == 1);
}

TEST_CASE("fill-mask: with --literal-special only the mask is a special token in a text") {
  const CliFixture f;
  const auto fill = [&](const std::string& text, std::vector<std::string> more) {
    more.insert(more.begin(), {"fill-mask", f.model(), text, "--json"});
    return json_lines(run(more).out).at(0);
  };
  const json special = fill("good [SEP] [MASK] .", {}), plain = fill("good [SEP] [MASK] .", {"--literal-special"});
  CHECK(plain["tokens"].get<int>() == special["tokens"].get<int>() + 2);  // three tokens: [ sep ]
  REQUIRE(plain["masks"].size() == 1);
  CHECK(plain["masks"][0]["position"] == special["masks"][0]["position"].get<int>() + 2);
  CHECK(fill("good <mask> .", {"--literal-special"}) == fill("good [MASK] .", {}));
}

TEST_CASE("fill-mask: texts whose mask is cut off and models that can't fill masks are refused") {
  const CliFixture f;
  std::string words;
  for (int i = 0; i < 20; ++i) words += "film ";
  const Ran cut = run({"fill-mask", f.model(), words + "[MASK]", "--json"});
  CHECK(cut.code == 1);
  CHECK(json_lines(cut.out)[0]["error"].get<std::string>().find("left after cutting") != std::string::npos);
  CHECK(json_lines(run({"fill-mask", f.model(), "[MASK] " + words, "--json"}).out)[0]["truncated"] == true);
  const Ran refused = run({"fill-mask", f.model(), "[MASK] " + words, "--on-long", "error"});
  CHECK(refused.code == 1);
  CHECK(refused.out.find("use --on-long truncate\n") != std::string::npos);

  const CliFixture no_mask({.mask_token = false}), no_tokenizer({.tokenizer = false}), no_head({.vectors = true});
  const std::pair<const CliFixture*, std::string> models[] = {
      {&no_mask, "no mask token"}, {&no_tokenizer, "no tokenizer"}, {&no_head, "no masked-LM head"}};
  for (const auto& [model, part] : models) {
    const Ran ran = run({"fill-mask", model->model(), "a [MASK]"});
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.find(part) != std::string::npos);
  }
  CHECK(run({"fill-mask", f.model()}).code == 2);
  CHECK(run({"fill-mask", f.model(), "[MASK]", "--top-k", "0"}).code == 2);
  CHECK(run({"fill-mask", f.model(), "[MASK]", "--json", "--table"}).code == 2);
  CHECK(run({"fill-mask", "--help"}).out.find("Examples:") != std::string::npos);
}

TEST_CASE("fill-mask: output grows with the number of masks, not with its square") {
  const CliFixture f({.max_tokens = 8200});
  const auto fill = [&](int masks, const std::vector<std::string>& more) {
    std::string text = "good ";
    for (int i = 0; i < masks; ++i) text += "[MASK]";
    std::vector<std::string> arguments = {"fill-mask", f.model(), "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, text + "\n");
  };
  // With up to 16 masks each candidate has a text of its own. With more masks only one text with the best tokens is
  // shown.
  const json few = json_lines(fill(16, {"--json"}).out).at(0);
  CHECK(few["masks"].size() == 16);
  CHECK(few["masks"][15]["tokens"][4].contains("text"));
  CHECK(few["filled"] == few["masks"][3]["tokens"][0]["text"]);
  const Ran seventeen = fill(17, {"--json"});
  CHECK(seventeen.code == 0);
  CHECK(seventeen.err ==
        "linformer: 1 of 1 texts have more than 16 masks; each is shown once, with the best token in every mask\n");
  const json many = json_lines(seventeen.out).at(0);
  CHECK(many["masks"].size() == 17);
  CHECK(many["masks"][16]["tokens"].size() == 5);
  for (const json& mask : many["masks"]) CHECK_FALSE(mask["tokens"][0].contains("text"));
  CHECK(many["filled"].get<std::string>().starts_with("good"));
  const auto tsv = lines_of(fill(17, {}).out);
  REQUIRE(tsv.size() == 17 * 5);
  CHECK(tsv[0].ends_with("\t" + many["filled"].get<std::string>()));
  for (size_t i = 1; i < tsv.size(); ++i) CHECK(tsv[i].ends_with("\t"));

  const Ran half = fill(4096, {"--json"}), whole = fill(8192, {"--json"});
  CHECK(json_lines(whole.out).at(0)["masks"].size() == 8192);
  CHECK(whole.out.size() < 21 * half.out.size() / 10);
  CHECK(whole.out.size() < 100 * 8192 * std::string("[MASK]").size());
  CHECK(fill(4096, {}).out.size() < 100 * 4096 * 6);
}

TEST_CASE("fill-mask: spellings of the mask are replaced in time linear in the text") {
  const CliFixture f;
  const auto model = linformer::Model::load(f.model().c_str());
  REQUIRE(model.ok());
  linformer::TokenizerDescription description = (*model)->description().tokenizer;
  // A spelling that is itself another token of the tokenizer is not replaced.
  const auto with_token = linformer::TokenizerFactory::create(description);
  REQUIRE(with_token.ok());
  CHECK(linformer::cli::MaskNames("<m>", *with_token).normalize_mask_spelling("<mask> [MASK]") == "<m> [MASK]");
  const auto own = std::find_if(description.added_tokens.begin(), description.added_tokens.end(),
                                [&](const auto& token) { return token.id == description.mask; });
  REQUIRE(own != description.added_tokens.end());
  for (const std::string& mask : {std::string("<m>"), std::string("<the mask>")}) {
    own->content = mask;
    const auto tokenizer = linformer::TokenizerFactory::create(description);
    REQUIRE(tokenizer.ok());
    const linformer::cli::MaskNames names(mask, *tokenizer);
    CHECK(names.normalize_mask_spelling("a <mask>[MASK]<mask> b<mask") == "a " + mask + mask + mask + " b<mask");
    CHECK(names.normalize_mask_spelling("") == "");
    std::string text, expected;
    for (int i = 0; i < 500000; ++i) {
      text += "<mask> ";
      expected += mask + " ";
    }
    const auto start = std::chrono::steady_clock::now();
    CHECK(names.normalize_mask_spelling(text) == expected);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));  // in quadratic time: over a minute
  }
}

}  // namespace linformer_test::fill_mask_test
