// Tests which settings and tensors of linearised encoders are refused, and that the errors name them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/linearised_encoder.h"
#include "converter/tiny_fairseq.h"
#include "converter/workplace.h"

namespace linformer_test::linearised_refusals_test {

using namespace linformer;
using nlohmann::json;
using Encoder = LinearisedEncoder;

namespace {

struct Refusal {
  const char* what;
  std::function<void(Encoder&)> change;
  std::vector<std::string> parts;  // texts that the error must contain
};

void check_refusals(const std::function<Encoder()>& make, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    CAPTURE(std::string(refusal.what));
    Encoder encoder = make();
    refusal.change(encoder);
    const std::string error = encoder.error();
    check_sentence(error, refusal.parts);
    CHECK(!contains(error, "\n"));
  }
}

// Returns a change that replaces the entry of layer 2, which has k 3 and window 2.
std::function<void(Encoder&)> entry(const char* text) {
  return [text](Encoder& encoder) { encoder.entry(2) = json::parse(text); };
}
std::function<void(Encoder&)> setting(const char* text) {
  return [text](Encoder& encoder) { encoder.config["linformer"] = json::parse(text); };
}

}  // namespace

TEST_CASE("settings of linearised encoders that are malformed are refused by name") {
  const std::string layer = "the setting linformer.layers[2]";
  check_refusals(
      Encoder::with_every_kind,
      {{"a flag", setting("true"), {"the setting linformer (config) is a boolean", "\"layers\""}},
       {"a list", setting("[null, null, null, null]"), {"the setting linformer (config) is a list"}},
       {"an object of others", setting(R"({"dim": 8})"), {"linformer (config)", "unknown key \"dim\"", "layers"}},
       {"nothing in it", setting("{}"), {"linformer.layers (config) is missing"}},
       {"null in it", setting(R"({"layers": null})"), {"linformer.layers (config) is a null"}},
       {"an object of layers", setting(R"({"layers": {"0": null}})"), {"linformer.layers (config) is a dict"}},
       {"one more key",
        [](Encoder& e) { e.config["linformer"]["version"] = 1; },
        {"linformer (config)", "unknown key \"version\""}},
       {"fewer layers",
        [](Encoder& e) { e.config["linformer"]["layers"].erase(3); },
        {"linformer.layers (config) has 3 entries", "the model has 4 layers"}},
       {"more layers",
        [](Encoder& e) { e.config["linformer"]["layers"].push_back(nullptr); },
        {"linformer.layers (config) has 5 entries", "the model has 4 layers"}},
       {"too many layers",
        [](Encoder& e) { e.config["linformer"]["layers"] = json(1025, nullptr); },
        {"linformer.layers (config) has 1025 entries", "at most 1024"}},
       {"a number", entry("7"), {layer + " (config) is a whole number", "null, or an object"}},
       {"an empty object", entry("{}"), {layer + " (config) lacks k"}},
       {"no window", entry(R"({"k": 3})"), {layer + " (config) lacks window", "give 0"}},
       {"unknown", entry(R"({"k": 3, "window": 2, "widnow": 2})"), {layer + " (config)", "unknown key \"widnow\""}},
       {"neither", entry(R"({"k": 0, "window": 0})"), {layer + " (config) has k 0 and window 0", "give null"}},
       {"k below 0", entry(R"({"k": -1, "window": 2})"), {layer + ".k (config) is -1", "0 to 16777216"}},
       {"k huge", entry(R"({"k": 16777217, "window": 2})"), {layer + ".k (config) is 16777217", "0 to 16777216"}},
       {"k beyond 64 bits",
        entry(R"({"k": 99999999999999999999, "window": 2})"),
        {layer + ".k (config)", "not a whole number"}},
       {"k real", entry(R"({"k": 3.0, "window": 2})"), {layer + ".k (config) is a number", "not a whole number"}},
       {"k text", entry(R"({"k": "3", "window": 2})"), {layer + ".k (config) is a text", "not a whole number"}},
       {"k flag", entry(R"({"k": true, "window": 2})"), {layer + ".k (config) is a boolean", "not a whole number"}},
       {"k null", entry(R"({"k": null, "window": 2})"), {layer + ".k (config) is a null", "not a whole number"}},
       {"window below 0", entry(R"({"k": 3, "window": -2})"), {layer + ".window (config) is -2", "0 to 16777216"}},
       {"window list", entry(R"({"k": 3, "window": [2]})"), {layer + ".window (config) is a list"}},
       {"window huge",
        entry(R"({"k": 3, "window": 4611686018427387904})"),
        {layer + ".window (config) is 4611686018427387904"}},
       {"span below 0", entry(R"({"k": 3, "window": 2, "span": -1})"), {layer + ".span (config) is -1"}},
       {"span beyond N",
        entry(R"({"k": 3, "window": 2, "span": 10})"),
        {layer + ".span (config) is 10", "texts of up to 9 tokens"}},
       {"span alone", entry(R"({"k": 3, "window": 0, "span": 4})"), {layer + ".span (config)", "window is 0"}},
       {"span of no rows", entry(R"({"k": 0, "window": 2, "span": 4})"), {layer + ".span (config)", "k is 0"}},
       {"span null", entry(R"({"k": 3, "window": 2, "span": null})"), {layer + ".span (config) is a null"}},
       {"tokens number", entry(R"({"k": 3, "window": 2, "exact_tokens": 4})"), {layer + ".exact_tokens (config)"}},
       {"tokens text", entry(R"({"k": 3, "window": 2, "exact_tokens": ["[CLS]"]})"), {layer + ".exact_tokens", "text"}},
       {"token below 0", entry(R"({"k": 3, "window": 2, "exact_tokens": [-1]})"), {layer + ".exact_tokens", "is -1"}},
       {"token unknown",
        entry(R"({"k": 3, "window": 2, "exact_tokens": [11]})"),
        {layer + ".exact_tokens (config) has the token 11", "11 tokens"}},
       {"tokens beyond k",
        entry(R"({"k": 3, "window": 2, "exact_tokens": [1, 2, 3, 4]})"),
        {layer + ".exact_tokens (config) has 4 tokens", "at most 3", "k 3"}},
       {"tokens without window",
        entry(R"({"k": 3, "window": 0, "exact_tokens": [1]})"),
        {layer + ".exact_tokens (config)", "window is 0"}},
       {"tokens without k",
        entry(R"({"k": 0, "window": 2, "exact_tokens": [1]})"),
        {layer + ".exact_tokens (config)", "at most 0", "k 0"}}});
}

TEST_CASE("at most 8 exact tokens are possible") {
  Encoder encoder = Encoder::tiny(TinyFamily::bert, 1);
  json tokens = json::array({1, 2, 3, 4, 5, 6, 7, 8});
  encoder.linearise({{{"k", 9}, {"window", 2}, {"exact_tokens", tokens}}}, 9);
  CHECK(encoder.convert().description().encoder.projections[0].exact_tokens.size() == 8);
  tokens.push_back(9);
  encoder.entry(0)["exact_tokens"] = tokens;
  check_sentence(encoder.error(), {"layers[0].exact_tokens (config) has 9 tokens", "at most 8"});
}

TEST_CASE("tensors of linearised encoders that don't fit the setting are refused by name") {
  const auto change = [](const char* side, std::function<void(HandTensor&)> what) {
    return [side, what](Encoder& e) { what(named(e.tensors, matrix_name(2, side))); };
  };
  const auto add = [](const std::string& name) {
    return [name](Encoder& e) { e.tensors.push_back(random_tensor(name, {3, 9}, 1)); };
  };
  check_refusals(
      Encoder::with_every_kind,
      {{"no setting",
        [](Encoder& e) { e.config.erase("linformer"); },
        {"linformer.layers.1.keys", "no setting linformer", "config.json"}},
       {"a setting that is null",
        [](Encoder& e) { e.config["linformer"] = nullptr; },
        {"linformer.layers.1.keys", "no setting linformer"}},
       {"no keys",
        [](Encoder& e) { remove(e.tensors, matrix_name(2, "keys")); },
        {"\"linformer.layers.2.keys\" is missing", "layers[2].k (config) is 3", "incomplete"}},
       {"no tensors",
        [](Encoder& e) {
          std::erase_if(e.tensors, [](const HandTensor& t) { return t.name.starts_with("linformer."); });
        },
        {"\"linformer.layers.1.keys\" is missing", "layers[1].k (config) is 3"}},
       {"a layer that stays", entry("null"), {"linformer.layers.2.keys", "layers[2] (config) is null"}},
       {"a layer without k",
        entry(R"({"k": 0, "window": 2})"),
        {"linformer.layers.2.keys", "layers[2] (config) has k 0"}},
       {"a layer that isn't there", add("linformer.layers.4.keys"), {"linformer.layers.4.keys", "has 4 entries"}},
       {"another name", add("linformer.layers.1.queries"), {"linformer.layers.1.queries", "neither"}},
       {"another number", add("linformer.layers.01.keys"), {"linformer.layers.01.keys", "neither"}},
       {"a huge number", add("linformer.layers.99999999999999999999.keys"), {"99999999999999999999.keys", "neither"}},
       {"no number", add("linformer.layers..keys"), {"linformer.layers..keys", "neither"}},
       {"another beginning", add("linformer.layer.1.keys"), {"linformer.layer.1.keys", "not part of"}},
       {"another k",
        entry(R"({"k": 4, "window": 2})"),
        {"linformer.layers.2.keys", "[3, 9] f32", "[4 (k in the setting linformer), N]"}},
       {"values of another k",
        change("values",
               [](HandTensor& t) {
                 t.shape = {1, 9};
                 t.values.resize(9);
               }),
        {"linformer.layers.2.values", "[1, 9] f32", "[3 (k in the setting linformer), N]"}},
       {"three dimensions",
        change("keys",
               [](HandTensor& t) {
                 t.shape = {1, 3, 9};
               }),
        {"linformer.layers.2.keys", "[1, 3, 9] f32"}},
       {"transposed",
        change("keys",
               [](HandTensor& t) {
                 t.shape = {9, 3};
               }),
        {"linformer.layers.2.keys", "[9, 3]"}},
       {"a column less",
        change("values",
               [](HandTensor& t) {
                 t.shape = {3, 8};
                 t.values.resize(24);
               }),
        {"linformer.layers.2.values", "[3, 8] f32", "up to 9 tokens", "max_seq_length"}},
       {"empty",
        change("keys",
               [](HandTensor& t) {
                 t.shape = {3, 0};
                 t.values.clear();
               }),
        {"linformer.layers.2.keys", "[3, 0]"}},
       {"whole numbers",
        change("keys", [](HandTensor& t) { t.type = DataType::i64; }),
        {"linformer.layers.2.keys", "floating point"}},
       {"not a number",
        change("keys", [](HandTensor& t) { t.values[4] = std::nan(""); }),
        {"linformer.layers.2.keys", "nan at element 4"}},
       {"infinite",
        change("values", [](HandTensor& t) { t.values[26] = INFINITY; }),
        {"linformer.layers.2.values", "inf at element 26"}},
       {"nothing else",
        [](Encoder& e) {
          std::erase_if(e.tensors, [](const HandTensor& t) { return !t.name.starts_with("linformer."); });
        },
        {"no supported implementation"}}});
}

TEST_CASE("layers and models that can't be linearised are refused by name") {
  for (const LinearisedTeacher& teacher : linearised_teachers()) {
    if (!teacher.has_bias) continue;
    CAPTURE(std::string(teacher.name));
    Encoder encoder = Encoder::golden(teacher.name);
    const EncoderDescription description = encoder.convert().description().encoder;
    encoder.linearise({nullptr, {{"k", 2}, {"window", 0}}}, description.max_tokens);
    check_sentence(encoder.error(),
                   {"layers[1].window (config) is 0 and k is 2", "distance", "give a window above 0, or null"});
  }
  Encoder modernbert = Encoder::golden("modernbert/labels");
  modernbert.linearise({nullptr, nullptr, {{"k", 0}, {"window", 2}}, nullptr}, 14);
  check_sentence(modernbert.error(), {"layers[2] (config)", "window of its own (3 tokens on each side)", "give null"});

  TinyFairseq fairseq;
  const std::string linformer = torch_zip(fairseq.tensors(), fairseq.settings());
  check_sentence(conversion_error(linformer, R"({"linformer": {"layers": [null, null]}})"),
                 {"(fairseq)", "linformer (config)", "hugging-face, modernbert, rotary-bert"});
}

TEST_CASE("the program's error is one line") {
  Encoder encoder = Encoder::with_every_kind();
  encoder.entry(1)["k"] = "three";
  const Workplace place;
  std::filesystem::create_directories(place.path("model"));
  write_file(place.path("model/config.json"), encoder.config.dump());
  write_file(place.path("model/model.safetensors"), encoder.bytes());
  const Run run = place.run(place.path("model") + " -o " + place.path("x.lnfr"));
  CHECK(run.status == 1);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  check_sentence(run.err, {"model.safetensors", "linformer.layers[1].k", "config.json", "text"});
  CHECK(place.entry_count() == 1);
}

}  // namespace linformer_test::linearised_refusals_test
