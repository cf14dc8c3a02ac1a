// Tests settings of --config that the conversion didn't ask for. The report names them, and the setting that a near
// miss may have meant.
#include <doctest/doctest.h>

#include "base/description.h"
#include "converter/dialects/settings.h"
#include "converter/tiny_hugging_face.h"
#include "converter/workplace.h"

namespace linformer_test::unused_settings_test {

using linformer::convert::Settings;
using linformer::convert::UnusedSetting;
using linformer::convert::ValueStore;
using nlohmann::json;

namespace {

// Returns "NAME" or "NAME -> MEANT" for each setting, in the report's order.
std::vector<std::string> unused(const std::vector<UnusedSetting>& settings) {
  std::vector<std::string> lines;
  for (const UnusedSetting& setting : settings) {
    lines.push_back(setting.name + (setting.did_you_mean.empty() ? "" : " -> " + setting.did_you_mean));
  }
  return lines;
}

using Names = std::vector<std::string>;

std::string without_settings() {
  TinyFairseq tiny;
  return torch_zip(tiny.tensors());
}

}  // namespace

TEST_CASE("settings that were asked for count as used, found or not, and the others are listed, near misses first") {
  ValueStore store;
  Settings settings;
  settings.add_user_settings(
      parse_json(store, R"({"foo": 1, "heads": 8, "Num-Layers": 2, "dropuot": 0, "pol": "cls", "k": 3, "depht": 1})",
                 "c.json"),
      "c.json");
  settings.add_source(parse_json(store, R"({"other": 1, "activation": "gelu"})", "args"), "args");
  const Settings copy = settings;  // a dialect adds its own sources to such a copy
  CHECK(copy.integer("heads")->value == 8);
  for (const char* name : {"num_layers", "dropout", "pool", "d", "depth", "activation"}) (void)copy.has(name);
  CHECK(unused(settings.unused()) ==
        Names{"Num-Layers -> num_layers", "dropuot -> dropout", "pol -> pool", "depht -> depth", "foo", "k"});
  for (const UnusedSetting& setting : settings.unused()) CHECK(setting.source == "c.json");
  CHECK(json::parse(settings.used_as_json()) == json::parse(R"({"heads": 8, "activation": "gelu"})"));
}

TEST_CASE("a setting that is also given under its right name is not suggested") {
  ValueStore store;
  Settings settings;
  settings.add_user_settings(
      parse_json(store, R"({"encoder_layers": 2, "decoder_layers": 2, "heads": null, "head": 1})", "c"), "c");
  CHECK(settings.integer("encoder_layers")->value == 2);
  CHECK(!settings.has("heads"));  // null counts as absent, but the name is given
  CHECK(unused(settings.unused()) == Names{"decoder_layers", "head"});
}

TEST_CASE("settings in known groups are listed one by one") {
  ValueStore store;
  Settings settings;
  const auto root =
      parse_json(store, R"({"model": {"heads": 8, "foo": 1}, "args": 3, "optimizer": {"lr": 1}, "foo": 2})", "c");
  settings.add_user_settings(root, "c", {"model", "args"});
  CHECK(settings.integer("heads")->source == "c, model");
  const std::vector<UnusedSetting> left = settings.unused();
  CHECK(unused(left) == Names{"args", "optimizer", "foo", "foo"});
  REQUIRE(left.size() == 4);
  CHECK(left[2].source == "c");
  CHECK(left[3].source == "c, model");
}

TEST_CASE("a conversion reports which settings of --config nothing used") {
  const Converted made = converted(
      without_settings(),
      R"({"encoder_attention_heads": 2, "activation_fnn": "relu", "foo": 1, "encoder_layers": 2, "layers": 2})");
  CHECK(unused(made.report.unused_settings) == Names{"activation_fnn -> activation_fn", "foo", "layers"});
  CHECK(made.description().encoder.layers[0].activation == linformer::Activation::gelu);
  CHECK(json::parse(made.settings) == json::parse(R"({"encoder_attention_heads": 2, "encoder_layers": 2})"));
  CHECK(converted(without_settings(), R"({"encoder_attention_heads": 2})").report.unused_settings.empty());
}

TEST_CASE("unused settings of the checkpoint itself and of config.json beside it are not listed") {
  TinyFairseq tiny;
  HandSettings settings = tiny.settings();
  settings["learning_rate_scheduler"] = std::string("polynomial");
  CHECK(converted(torch_zip(tiny.tensors(), settings)).report.unused_settings.empty());

  Workplace place;
  TinyHuggingFace hugging_face;
  std::filesystem::create_directories(place.path("model"));
  write_file(place.path("model/model.safetensors"), safetensors(hugging_face.tensors()));
  json config = hugging_face.config();
  config["transformers_version"] = "4.0";
  write_file(place.path("model/config.json"), config.dump());
  const Run beside = place.run(place.path("model") + " --json -o " + place.path("x.lnfr"));
  REQUIRE(beside.status == 0);
  CHECK(json::parse(beside.out)["unused_settings"] == json::array());
  // If the same file is given with --config, its unused settings are listed.
  const Run given = place.run(place.path("model") + " --json --config " + place.path("model/config.json") + " -o " +
                              place.path("y.lnfr"));
  REQUIRE(given.status == 0);
  CHECK(contains(json::parse(given.out)["unused_settings"].dump(), "transformers_version"));
  CHECK(read_file(place.path("x.lnfr")) == read_file(place.path("y.lnfr")));
}

TEST_CASE("the report lists at most 12 unused settings, and the JSON report lists all of them") {
  Workplace place;
  write_file(place.path("c.pt"), without_settings());
  json config = {{"encoder_attention_heads", 2}, {"activation_fnn", "relu"}, {"esc\x1b[1m", 1}};
  for (int i = 0; i < 20; ++i) config["unknown" + std::to_string(i)] = i;
  write_file(place.path("cfg.json"), config.dump());
  const std::string convert =
      place.path("c.pt") + " --config " + place.path("cfg.json") + " -o " + place.path("x.lnfr");
  const Run table = place.run(convert + " --verbose");
  REQUIRE(table.status == 0);
  const size_t title = table.out.find("Settings that nothing used\n");
  REQUIRE(title != std::string::npos);
  const size_t begin = table.out.find('\n', title) + 1;
  const std::string line = table.out.substr(begin, table.out.find('\n', begin) - begin);
  CHECK(contains(line, "cfg.json: activation_fnn (did you mean activation_fn?), esc\\x1b[1m, unknown0, "));
  CHECK(line.ends_with(" and 10 more"));
  CHECK(std::count(line.begin(), line.end(), ',') == 11);
  const json unused = json::parse(place.run(convert + " --json").out)["unused_settings"];
  REQUIRE(unused.size() == 22);
  CHECK(unused[0]["name"] == "activation_fnn");
  CHECK(unused[0]["did_you_mean"] == "activation_fn");
  CHECK(unused[0]["source"] == place.path("cfg.json"));
  CHECK(unused[1]["did_you_mean"] == "");
  CHECK(place.run(convert + " --quiet").out.empty());

  write_file(place.path("cfg.json"), R"({"encoder_attention_heads": 2})");
  CHECK(!contains(place.run(convert).out, "nothing used"));
  CHECK(!contains(place.run(convert + " --verbose").out, "nothing used"));
  // The model file is the same with and without unused settings.
  const std::string plain = read_file(place.path("x.lnfr"));
  write_file(place.path("cfg.json"), R"({"encoder_attention_heads": 2, "foo": {"bar": [1]}})");
  REQUIRE(place.run(convert).status == 0);
  CHECK(read_file(place.path("x.lnfr")) == plain);
}

}  // namespace linformer_test::unused_settings_test
