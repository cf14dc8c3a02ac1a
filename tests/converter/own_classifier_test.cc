// Tests classifiers that users wrote around a package's encoder, with tensor names of their own.
#include <doctest/doctest.h>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::own_classifier_test {

using namespace linformer;
using nlohmann::json;

namespace {

constexpr const char* two_heads = R"({"heads": 2})";

struct Module {
  std::string name;
  std::vector<int64_t> shape;
  bool bias = false;
};

// Returns a checkpoint with lucidrains' encoder of one layer, whose names begin with `prefix`, between the modules
// `before` and `behind`.
std::string around(const std::string& prefix, const std::vector<Module>& before, const std::vector<Module>& behind,
                   int64_t width = 8, int64_t n = 6) {
  std::vector<HandTensor> made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, 1));
  };
  const auto add_modules = [&](const std::vector<Module>& modules) {
    for (const Module& module : modules) {
      add(module.name + ".weight", module.shape);
      if (module.bias) add(module.name + ".bias", {module.shape[0]});
    }
  };
  add_modules(before);
  const std::string layer = prefix + "net.layers.0.";
  for (const std::string half : {"0", "1"}) {
    add(layer + half + ".norm.weight", {width});
    add(layer + half + ".norm.bias", {width});
  }
  for (const std::string letter : {"k", "v"}) {
    add(layer + "0.fn.proj_" + letter, {n, 2});
    add(layer + "0.fn.to_" + letter + ".weight", {width, width});
  }
  add(layer + "0.fn.to_q.weight", {width, width});
  add(layer + "0.fn.to_out.weight", {width, width});
  add(layer + "0.fn.to_out.bias", {width});
  add(layer + "1.fn.w1.weight", {12, width});
  add(layer + "1.fn.w1.bias", {12});
  add(layer + "1.fn.w2.weight", {width, 12});
  add(layer + "1.fn.w2.bias", {width});
  add_modules(behind);
  return torch_zip(made);
}

std::string usual(const std::string& prefix, int64_t width = 8, int64_t n = 6) {
  return around(prefix, {{"embedding", {10, width}}, {"positions", {n, width}}},
                {{"norm", {width}, true}, {"head", {2, width}, true}}, width, n);
}

// Returns the part of the text between the first `begin` and the next `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  REQUIRE(from != text.npos);
  const size_t to = text.find(end, from + begin.size());
  REQUIRE(to != text.npos);
  return text.substr(from + begin.size(), to - from - begin.size());
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const size_t at = text.find(part);
  REQUIRE(at != text.npos);
  return text.replace(at, part.size(), by);
}

void check_own(const Converted& made) {
  const EncoderDescription& encoder = made.description().encoder;
  CHECK(encoder.vocab_size == 10);
  CHECK(encoder.embedding.position_kind == PositionKind::learned);
  CHECK(encoder.final_norm.present());
  REQUIRE(made.description().heads.size() == 1);
  const ClassificationHead& head = made.description().heads[0];
  CHECK(head.name == "head");
  CHECK(head.pooling == Pooling::mean);
  CHECK(!head.dense.present());
  CHECK(made.report.left_out.empty());
}

}  // namespace

TEST_CASE("the error for a user's own classifier asks for settings that name its parts, and it converts with them") {
  for (const std::string prefix : {"encoder.", "linformer."}) {
    const std::string error = conversion_error(usual(prefix), two_heads);
    CAPTURE(error);
    check_sentence(error, {"below " + prefix, "the package linformer", "NUMBER", "POOLING", "A classifier of one's own",
                           "tensor_prefix"});
    const std::string shown = between(error, "give config '", "', where POOLING");
    CHECK(json::parse(replaced(shown, "NUMBER", "2")) == json{{"heads", 2},
                                                              {"encoder_prefix", prefix.substr(0, prefix.size() - 1)},
                                                              {"embedding", "embedding"},
                                                              {"positions", "positions"},
                                                              {"norm", "norm"},
                                                              {"pooling", "POOLING"},
                                                              {"head", "head"}});
    check_own(converted(usual(prefix), replaced(replaced(shown, "NUMBER", "2"), "POOLING", "mean")));
  }
  // The encoder is converted alone if the user says so, or if no other tensor could be an embedding.
  const Converted vectors = converted(usual("encoder."), R"({"heads": 2, "tensor_prefix": "encoder"})");
  CHECK(vectors.description().encoder.embedding.vectors.width == 8);
  const Converted other = converted(around("encoder.", {}, {{"head", {2, 8}, true}}), two_heads);
  REQUIRE(other.report.cautions.size() == 1);
  check_sentence(other.report.cautions[0], {"(head.weight and others) were left out", "takes vectors"});
  CHECK(converted(around("", {}, {}), two_heads).report.cautions.empty());
}

TEST_CASE("the settings that the converter's README shows convert the module that it shows") {
  const std::string readme = read_file(LINFORMER_SOURCE_DIR "/converter/README.md");
  const std::string section = between(readme, "### A classifier of one's own", "### Sentence embeddings");
  for (const char* name : {"self.embedding = nn.Embedding(vocabulary, 64)", "self.positions = nn.Embedding(128, 64)",
                           "self.encoder = Linformer(dim=64, seq_len=128", "self.norm = nn.LayerNorm(64)",
                           "self.head = nn.Linear(64, 2)"}) {
    CAPTURE(std::string(name));
    CHECK(contains(section, name));
  }
  const Converted made = converted(usual("encoder.", 64, 128), between(section, "```json\n", "```"));
  check_own(made);
  CHECK(made.description().encoder.max_tokens == 128);
  CHECK(made.description().encoder.layers[0].attention.heads == 8);
  const Array<String>& labels = made.description().heads[0].labels;
  REQUIRE(labels.size() == 2);
  CHECK(labels[1] == "positive");
}

TEST_CASE("settings of a user's own model that the file contradicts are errors that name the setting") {
  const json good = {{"heads", 2},     {"encoder_prefix", "encoder"}, {"embedding", "embedding"},
                     {"norm", "norm"}, {"positions", "positions"},    {"pooling", "mean"},
                     {"head", "head"}, {"labels", {"a", "b"}}};
  check_own(converted(usual("encoder."), good.dump()));
  struct Case {
    json change;  // null removes the setting
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {{{"encoder_prefix", "encode"}}, {"encoder_prefix is \"encode\"", "embedding.weight"}},
      {{{"encoder_prefix", "head"}}, {"below \"head.\"", "linformer-pytorch"}},
      {{{"embedding", nullptr}}, {"token embedding", "\"embedding\": \"NAME\""}},
      {{{"embedding", "embeddings"}}, {"embedding is \"embeddings\"", "embedding.weight"}},
      {{{"embedding", "head"}, {"head", nullptr}}, {"do not say", "embedding.weight"}},
      {{{"positions", nullptr}}, {"do not say", "positions.weight", "[6, 8]"}},
      {{{"norm", nullptr}}, {"do not say", "\"norm."}},
      {{{"norm", "nrom"}}, {"norm is \"nrom\"", "module"}},
      {{{"pooling", nullptr}}, {"what the head reads", "\"pooling\": \"mean\""}},
      {{{"pooling", "cls"}}, {"pooling is \"cls\"", "mean, first, max, last and none"}},
      {{{"labels", {"a"}}}, {"labels", "1 names", "2 outputs"}},
      {{{"labels", {"a", "a"}}}, {"labels", "twice"}},
      {{{"labels", "a"}}, {"labels", "0 names"}},
      {{{"head", "norm"}, {"norm", nullptr}}, {"norm.weight"}},
      {{{"pad_id", 10}}, {"pad_id is 10"}},
      {{{"heads", 3}}, {"heads is 3"}},
      {{{"head_dense", "head"}}, {"activation behind head_dense", "head_activation"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.change.dump());
    json settings = good;
    settings.update(c.change);
    for (const auto& [name, value] : c.change.items()) {
      if (value.is_null()) settings.erase(name);
    }
    check_sentence(conversion_error(usual("encoder."), settings.dump()), c.parts);
  }
}

TEST_CASE("settings of a user's own model for a file without tensors are an error") {
  const json settings = {{"encoder_prefix", "encoder"}, {"embedding", "embedding"}};
  check_sentence(conversion_error(safetensors_file("{}", ""), settings.dump()), {"has no tensors"});
}

TEST_CASE("the error for a model around linformer-pytorch's encoder asks for settings too") {
  const std::string folder = golden_cases_folder() + "/own_classifier/tatp22";
  const std::string bytes = read_file(folder + "/checkpoint.safetensors");
  const json config = json::parse(read_file(folder + "/meta.json")).at("config");
  const std::string error = conversion_error(bytes);
  check_sentence(error, {"below model.encoder.", "linformer-pytorch", "\"embedding\": \"model.embed\"",
                         "\"positions\": \"model.position\"", "\"head\": \"model.out\""});
  json shown = json::parse(replaced(between(error, "give config '", "', where POOLING"), "POOLING", "first"));
  shown["head_kind"] = "regression";
  const Converted as_shown = converted(bytes, shown.dump()), as_said = converted(bytes, config.dump());
  CHECK(as_shown.description().heads[0].name == "out");
  const TensorIndex table = as_said.description().encoder.embedding.positions;
  CHECK(as_shown.values(as_shown.description().encoder.embedding.positions) == as_said.values(table));
}

}  // namespace linformer_test::own_classifier_test
