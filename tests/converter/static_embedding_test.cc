// Tests static embeddings and prompts, and what is refused. model2vec and sentence-transformers wrote the folders, and
// tests/reference/static_test.py wrote beside them the vectors that these libraries compute for texts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/conversion.h"
#include "converter/readers/error.h"
#include "converter/tiny_fairseq.h"
#include "support/temporary_folder.h"
#include "linformer/embedder.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::static_embedding_test {

using namespace linformer;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

fs::path golden_folder() { return test_data_path("static_embedding"); }

// A copy of a golden folder whose files can be changed.
class StaticFolder {
 public:
  explicit StaticFolder(const std::string& name) {
    fs::copy(golden_folder() / name, folder_.path("model"), fs::copy_options::recursive);
  }
  json read(const std::string& name) const { return json::parse(read_file(path(name))); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  void remove(const std::string& name) const { fs::remove(path(name)); }
  std::string path(const std::string& name) const { return folder_.path("model") + "/" + name; }

  Converted convert(const std::string& config = "") const {
    convert::ConvertOptions options;
    options.checkpoint = folder_.path("model");
    options.output = folder_.path("model.lnfr");
    options.config = config;
    Converted made;
    made.report = convert::convert_checkpoint(options);
    auto loaded = Model::load(options.output.c_str());
    REQUIRE(loaded.ok());
    made.model = loaded.value();
    return made;
  }
  std::string error(const std::string& config = "") const {
    try {
      convert(config);
      return "";
    } catch (const convert::Error& error) {
      return error.what();
    }
  }

 private:
  TemporaryFolder folder_;
};

void check_vectors(const Converted& made, const std::string& prompt, const json& texts, const json& expected) {
  EmbedderOptions options;
  options.prompt = prompt;
  Result<Embedder> embedder = Embedder::create(made.model, options);
  REQUIRE_MESSAGE(embedder.ok(), embedder.status().message());
  std::vector<std::string> owned = texts;
  std::vector<std::string_view> views(owned.begin(), owned.end());
  std::vector<float> vectors(views.size() * static_cast<size_t>(embedder->width()));
  const Status status = embedder->embed(views, vectors);
  REQUIRE_MESSAGE(status.ok(), status.message());
  REQUIRE(expected.size() == views.size());
  for (size_t t = 0; t < views.size(); ++t) {
    CAPTURE(t);
    const std::vector<double> row = expected[t];
    REQUIRE(row.size() == static_cast<size_t>(embedder->width()));
    for (size_t i = 0; i < row.size(); ++i) {
      CHECK(std::abs(static_cast<double>(vectors[t * row.size() + i]) - row[i]) < 5e-7);
    }
  }
}

}  // namespace

TEST_CASE("static embeddings: vectors equal those of model2vec and sentence-transformers") {
  const json goldens = json::parse(read_file((golden_folder() / "vectors.json").string()));
  REQUIRE(goldens["vectors"].size() == 3);
  for (const auto& [name, runs] : goldens["vectors"].items()) {
    CAPTURE(name);
    const StaticFolder folder(name);
    const Converted made = folder.convert();
    for (const auto& [prompt, vectors] : runs.items()) check_vectors(made, prompt, goldens["texts"], vectors);
  }
}

TEST_CASE("model2vec: the model has no layers, takes unknown tokens as pads and knows the median length of a token") {
  StaticFolder folder("short");
  for (const bool modules : {true, false}) {
    if (!modules) folder.remove("modules.json");
    const Converted made = folder.convert();
    const ModelDescription& model = made.description();
    CHECK(model.dialect == "model2vec");
    CHECK(model.encoder.layers.empty());
    CHECK(model.encoder.d_model == 6);
    CHECK(model.encoder.max_tokens == 9);
    CHECK(model.encoder.pad_id == 1);
    CHECK(model.embedding.present);
    CHECK_FALSE(model.embedding.normalize);
    CHECK(model.embedding.characters_per_token == 3);
    CHECK(model.tokenizer.single_template.size() == 1);
    CHECK(fact(made.report, "longest text (N)") == "9");
  }
  json config = folder.read("config.json");
  config["max_length"] = nullptr;
  config["normalize"] = true;
  folder.write("config.json", config.dump());
  CHECK(folder.convert().description().encoder.max_tokens == 1 << 20);
  CHECK(folder.convert().description().embedding.normalize);
  config.erase("max_length");
  folder.write("config.json", config.dump());
  CHECK(folder.convert().description().encoder.max_tokens == 512);
  CHECK(folder.convert(R"({"max_seq_length": 7})").description().encoder.max_tokens == 7);
  check_sentence(folder.error(R"({"max_length": 0})"), {"max_length is 0", "1 to 16777216"});
}

TEST_CASE("model2vec: mapping and weights are applied to the rows, and tensors that don't fit are refused") {
  const std::vector<double> rows = {1, 2, 3, 4, 5, 6};
  const auto tensors = [&](const std::vector<double>& mapping, const std::vector<double>& weights) {
    std::vector<HandTensor> made = {{"embeddings", {3, 2}, rows}};
    if (!mapping.empty()) made.push_back({"mapping", {static_cast<int64_t>(mapping.size())}, mapping});
    if (!weights.empty()) made.push_back({"weights", {static_cast<int64_t>(weights.size())}, weights});
    return safetensors(made);
  };
  const Converted made = converted(tensors({2, 0, 0, 1}, {1, 2, 0.5f, 4}));
  CHECK(made.description().encoder.vocab_size == 4);
  CHECK(made.values(made.description().encoder.embedding.tokens) == std::vector<float>{5, 6, 2, 4, 0.5f, 1, 12, 16});
  CHECK(converted(tensors({}, {2, 1, 1})).values(0) == std::vector<float>{2, 4, 3, 4, 5, 6});
  check_sentence(conversion_error(tensors({0, 3}, {})), {"mapping", "names the row 3, but there are 3 rows"});
  check_sentence(conversion_error(tensors({0, -1}, {})), {"mapping", "names the row -1, but there are 3 rows"});
  check_sentence(conversion_error(tensors({0, 1}, {1, 1, 1})), {"3 weights for 2 tokens"});
  check_sentence(conversion_error(tensors({}, {1, INFINITY, 1})), {"weights", "inf"});
  check_sentence(conversion_error(safetensors({{"embeddings", {6}, rows}})), {"embeddings", "[6]"});
  // A file with another tensor beside these isn't a model2vec model.
  check_sentence(conversion_error(safetensors({{"embeddings", {3, 2}, rows}, {"layers", {6}, rows}})),
                 {"no supported implementation"});
}

TEST_CASE("StaticEmbedding: tokenizer.json says how much of a text is read") {
  StaticFolder folder("module-prompts");
  const Converted whole = folder.convert();
  CHECK(whole.description().dialect == "static-embedding");
  CHECK(whole.description().encoder.max_tokens == 1 << 20);
  CHECK(whole.description().encoder.pad_id == -1);
  CHECK(whole.description().embedding.characters_per_token == 0);
  json tokenizer = folder.read("tokenizer.json");
  tokenizer["truncation"] = {{"direction", "Right"}, {"max_length", 7}, {"strategy", "LongestFirst"}, {"stride", 0}};
  folder.write("tokenizer.json", tokenizer.dump());
  CHECK(folder.convert().description().encoder.max_tokens == 7);
  CHECK(folder.convert(R"({"max_seq_length": 5})").description().encoder.max_tokens == 5);
}

TEST_CASE("prompts: those of the folder are kept, and malformed ones are refused") {
  StaticFolder folder("module-prompts");
  const char* file = "config_sentence_transformers.json";
  const json original = folder.read(file);
  const Converted made = folder.convert();
  const SentenceEmbedding& embedding = made.description().embedding;
  REQUIRE(embedding.prompts.size() == 3);
  CHECK(embedding.prompts[static_cast<size_t>(embedding.default_prompt)].name == "passage");
  CHECK(made.model->prompt(1).text == "the passage ");
  CHECK(fact(made.report, "prompts") == "document, passage, query; passage where none is chosen");
  const auto error = [&](const char* name, const json& value) {
    json changed = original;
    changed[name] = value;
    folder.write(file, changed.dump());
    return folder.error();
  };
  check_sentence(error("default_prompt_name", "nobody"), {"nobody", "is none of the prompts document, passage, query"});
  check_sentence(error("prompts", 3), {"sentence_prompts", "not an object of texts by name"});
  check_sentence(error("prompts", {{"query", 3}, {"passage", "a"}}), {"the prompt", "query", "not a text"});
  check_sentence(error("prompts", {{"", "a"}, {"passage", "a"}}), {"name that is empty, too long or not printable"});
  check_sentence(error("prompts", {{"passage", std::string(9000, 'a')}}), {"has 9000 bytes", "8192"});
  json many = {{"passage", "a"}};
  for (int i = 0; i < 256; ++i) many[std::to_string(i)] = "a";
  check_sentence(error("prompts", many), {"has 257 prompts", "256"});
  CHECK(error("default_prompt_name", nullptr) == "");
  CHECK(folder.convert().description().embedding.default_prompt == -1);
  // --config takes precedence over the folder.
  const Converted given = folder.convert(R"({"sentence_prompts": {"a": "b"}, "sentence_include_prompt": false})");
  CHECK(given.description().embedding.prompts.size() == 1);
  CHECK(given.description().embedding.excludes_prompt);
}

}  // namespace linformer_test::static_embedding_test
