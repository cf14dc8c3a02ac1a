// Tests settings whose values are shared or contain themselves. A pickle expresses this in few bytes, and JSON text
// can't express it.
#include <nlohmann/json.hpp>

#include "converter/conversion.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/dialects/settings.h"
#include "converter_cost/cost.h"

namespace linformer_test::settings_cost_test {

using namespace linformer::convert;
using nlohmann::json;

namespace {

std::string put(uint8_t index) { return {'q', static_cast<char>(index)}; }
std::string get(uint8_t index) { return {'h', static_cast<char>(index)}; }

// Returns the pickle of {"x": VALUE}, where `value` writes VALUE.
std::string one_setting(const std::function<void(PickleWriter&)>& value) {
  PickleWriter pickle;
  pickle.empty_dict().text("x");
  value(pickle);
  return pickle.set_item().stop();
}

// Writes a list as memo entry `index`. The list contains the previous entry `times` times; the list of entry 0 is
// empty.
void add_list_of(PickleWriter& pickle, uint8_t index, size_t times) {
  pickle.op(']').append(put(index));
  if (index > 0) pickle.mark().append(repeated(get(static_cast<uint8_t>(index - 1)), times)).op('e');
  pickle.op('0');
}

std::string used_or_error(const char* what, const std::string& pickle, std::string* used) {
  const Pickled pickled(pickle);
  Settings settings;
  settings.add_exported_settings(pickled.value, "the exported file");
  return error_within_budget(what, pickle.size(), [&] { *used = settings.used_as_json(); });
}

}  // namespace

TEST_CASE("a list that contains itself is an error, not an endless walk") {
  std::string used;
  const std::string bomb =
      one_setting([](PickleWriter& p) { p.op(']').append(put(0)).mark().append(repeated(get(0), 5000)).op('e'); });
  CHECK(contains(used_or_error("a list of 5,000 times itself", bomb, &used), "the setting \"x\""));
  const std::string cycle =
      one_setting([](PickleWriter& p) { p.op('}').append(put(0)).text("me").append(get(0)).set_item(); });
  CHECK(contains(used_or_error("a dict in itself", cycle, &used), "deeper than 64 levels"));
}

TEST_CASE("lists of shared lists and texts are limited by the size of the pickle") {
  std::string used;
  const std::string doubling = one_setting([](PickleWriter& p) {
    for (uint8_t i = 0; i < 40; ++i) add_list_of(p, i, 2);
    p.append(get(39));
  });
  CHECK(contains(used_or_error("40 lists, each the one before twice", doubling, &used), "the setting \"x\""));
  const std::string wide = one_setting([](PickleWriter& p) {
    for (uint8_t i = 0; i < 8; ++i) add_list_of(p, i, 3000);
    p.append(get(7));
  });
  CHECK(contains(used_or_error("8 lists, each the one before 3,000 times", wide, &used), "the setting \"x\""));
  const std::string text = one_setting([](PickleWriter& p) {
    p.text(std::string(20000, 't')).append(put(0)).op('0').op(']').mark().append(repeated(get(0), 5000)).op('e');
  });
  CHECK(contains(used_or_error("a text of 20,000 bytes, 5,000 times", text, &used), "the setting \"x\""));
}

TEST_CASE("values that real files share are written out") {
  std::string used;
  const std::string pickle = one_setting([](PickleWriter& p) {
    p.text("gelu").append(put(0)).op('0').op(']').append(put(1)).mark().append(repeated(get(0), 3)).op('e').op('0');
    p.empty_dict().text("a").append(get(1)).set_item().text("b").append(get(1)).set_item();
  });
  CHECK(used_or_error("shared lists", pickle, &used) == "");
  CHECK(json::parse(used) == json::parse(R"({"x": {"a": ["gelu", "gelu", "gelu"], "b": ["gelu", "gelu", "gelu"]}})"));
  ValueStore store;
  const std::string nested = "{\"x\": " + std::string(30, '[') + "7" + std::string(30, ']') + "}";
  Settings settings;
  settings.add_exported_settings(parse_json(store, nested, "settings"), "settings");
  CHECK(json::parse(settings.used_as_json()) == json::parse(nested));
}

TEST_CASE("a long text that is shared is not copied for each class or architecture") {
  const size_t classes = 2000;
  PickleWriter pickle;
  pickle.text(std::string(50000, 'l')).append(put(0)).op('0').empty_dict();
  pickle.text("id2label").empty_dict();
  for (size_t i = 0; i < classes; ++i) pickle.text(std::to_string(i)).append(get(0)).set_item();
  pickle.set_item().text("architectures").op(']').mark().append(repeated(get(0), classes)).op('e').set_item();
  const Pickled pickled(pickle.stop());
  Settings settings;
  settings.add_source(pickled.value, "config");
  Report report;
  const std::string error = error_within_budget("labels of one text", pickled.pickle.size(), [&] {
    CHECK(hugging_face::labels_of(settings, classes, report).empty());
    CHECK(hugging_face::architecture_suffix(settings).has_value());
  });
  CHECK(error == "");
  REQUIRE(report.notes.size() == 1);
  CHECK(contains(report.notes[0], "id2label"));
}

TEST_CASE("a search in a dict finds the last value of a key, whether the dict has few keys or many") {
  for (const int keys : {3, 8, 9, 2000}) {
    PickleWriter pickle;
    pickle.empty_dict();
    for (int i = 0; i < keys; ++i) pickle.text("k" + std::to_string(i)).integer(i).set_item();
    pickle.integer(5).integer(6).set_item().text("k1").integer(-1).set_item();
    const Pickled pickled(pickle.stop());
    for (int i = 0; i < keys; ++i) CHECK(pickled.value.find("k" + std::to_string(i)).integer() == (i == 1 ? -1 : i));
    CHECK(!pickled.value.find("k" + std::to_string(keys)));
    CHECK(!pickled.value.find(""));
  }
}

}  // namespace linformer_test::settings_cost_test
