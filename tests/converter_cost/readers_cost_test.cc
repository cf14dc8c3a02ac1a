// Tests files whose few bytes ask for much memory or work. Reading each of them stays within its budget, whether or not
// it ends in an error.
#include "converter/conversion.h"
#include "converter/dialects/weights.h"
#include "converter/readers/checkpoint.h"
#include "converter_cost/cost.h"

namespace linformer_test::readers_cost_test {

using namespace linformer::convert;

namespace {

std::string archive(const std::string& pickle, const std::string& data = std::string(32, '\0')) {
  return zip_archive({{"a/data.pkl", pickle}, {"a/data/0", data}});
}

PickleWriter& add_weight_tensor(PickleWriter& pickle) {
  return pickle.text("w").begin_tensor().storage("FloatStorage", "0", 8).end_tensor(0, {8}, {1}).set_item();
}

std::string error_of_opening(const char* what, const std::string& file) {
  return error_within_budget(what, file.size(), [&] { Checkpoint::open(as_bytes(file), "memory"); });
}

// Returns an archive whose pickle has the opcodes, and then a state dict of one tensor.
std::string beside_weight(const std::string& opcodes) {
  PickleWriter pickle;
  pickle.append(opcodes).empty_dict();
  return archive(add_weight_tensor(pickle).stop());
}

std::string long_get(uint32_t index) { return "j" + raw(index); }
std::string long_put(uint32_t index) { return "r" + raw(index); }

}  // namespace

TEST_CASE("the number of names of globals is limited, however many pairs of texts there are") {
  const uint32_t texts = 100;
  PickleWriter pickle(4);
  for (uint32_t i = 0; i < 2 * texts; ++i) {
    pickle.text(std::string(500, 'm') + std::to_string(i)).append(long_put(i)).op('0');
  }
  for (uint32_t module = 0; module < texts; ++module) {
    for (uint32_t name = 0; name < texts; ++name) {
      pickle.append(long_get(module)).append(long_get(texts + name)).op('\x93').op('0');
    }
  }
  CHECK(contains(error_of_opening("globals of 100 x 100 texts", archive(pickle.none().stop())),
                 "more than 4096 classes"));
}

TEST_CASE("one global that is named and called again and again is one name") {
  PickleWriter pickle(4);
  pickle.text(std::string(500, 'm'))
      .append(long_put(0))
      .op('0')
      .text(std::string(500, 'n'))
      .append(long_put(1))
      .op('0');
  const std::string call = long_get(0) + long_get(1) + "\x93)R0";
  const std::string file = archive(add_weight_tensor(pickle.append(repeated(call, 20000)).empty_dict()).stop());
  CHECK(error_of_opening("20,000 calls of one global", file) == "");
  CHECK(Checkpoint::open(as_bytes(file), "memory").opaque_globals.size() == 1);
}

TEST_CASE("pickles of very many opcodes of one and two bytes stay within the budget") {
  const std::string func =
      "ctorch._utils\n_rebuild_tensor_v2\nq\x01"
      "0";
  PickleWriter arguments;
  arguments.mark().storage("FloatStorage", "0", 8).integer(0).tuple({8}).tuple({1}).boolean(false).none().op('t');
  const std::string arguments_of_tensor = arguments.stop().substr(2);
  PickleWriter id;
  id.mark().text("storage").global("torch", "FloatStorage").text("0").text("cpu").integer(8).op('t');
  const std::string storage_id = id.stop().substr(2);
  const auto without_stop = [](std::string opcodes) {
    opcodes.pop_back();
    return opcodes;
  };
  const std::pair<const char*, std::string> cases[] = {
      {"None", repeated("N", 300000)},
      {"empty lists", repeated("]", 300000)},
      {"empty dicts, thrown away", repeated("}0", 300000)},
      {"small integers", repeated("K\x01", 300000)},
      {"tuples of one", "N" + repeated("\x85", 300000)},
      {"marks", repeated("(", 300000) + repeated("1", 300000)},
      {"one memo entry far away", "N" + long_put(0xfffff)},
      {"memo entries", "N" + repeated("\x94", 300000)},
      {"names without letters", repeated("c\n\n0", 300000)},
      {"one tensor rebuilt", func + without_stop(arguments_of_tensor) +
                                 "q\x02"
                                 "0" +
                                 repeated("h\x01h\x02R0", 50000)},
      {"one storage named", without_stop(storage_id) +
                                "q\x02"
                                "0" +
                                repeated("h\x02Q0", 50000)},
      {"one dict copied", "}q\x01(" + repeated("NN", 1000) +
                              "u0ccollections\nCounter\nq\x02"
                              "0" +
                              repeated("h\x02h\x01\x85R0", 20000)},
  };
  for (const auto& [what, opcodes] : cases) error_of_opening(what, beside_weight(opcodes));
}

TEST_CASE("a state dict that contains itself is searched once") {
  PickleWriter pickle;
  pickle.empty_dict().append("q\x01");
  for (const char* key : {"model", "state_dict", "model_state_dict", "model_state", "module"}) {
    pickle.text(key).append("h\x01").set_item();
  }
  const size_t others = 20000;
  pickle.none().append("q\x02").op('0').mark();
  for (size_t i = 0; i < others; ++i) pickle.append("h\x02h\x02");
  const std::string file = archive(add_weight_tensor(pickle.op('u')).stop());
  // The state dict is found, and then one of its keys is an error, because it is None instead of a string.
  CHECK(contains(error_of_opening("a state dict in itself", file), "has a key that is a null"));

  PickleWriter sound;
  sound.empty_dict().append("q\x01").text("model").append("h\x01").set_item().text("module").append("h\x01").set_item();
  const std::string small = archive(add_weight_tensor(sound).stop());
  const Checkpoint checkpoint = Checkpoint::open(as_bytes(small), "memory");
  CHECK(checkpoint.tensors.size() == 1);
  CHECK(checkpoint.state_dict_path.empty());
}

TEST_CASE("the search for the state dict looks at no dict more than once for each depth") {
  // There are three levels of dicts. Each dict contains the next one under all five names that a state dict may have,
  // so 125 paths lead to the 10,000 entries.
  PickleWriter pickle;
  const uint64_t entries = 10000;
  pickle.empty_dict().append("q\x03").mark();
  for (uint64_t i = 0; i < entries; ++i) pickle.text("t" + std::to_string(i)).none();
  pickle.op('u').op('0');
  for (uint8_t level = 3; level-- > 0;) {
    pickle.empty_dict().append(std::string{'q', static_cast<char>(level)});
    for (const char* key : {"model", "state_dict", "model_state_dict", "model_state", "module"}) {
      pickle.text(key).append(std::string{'h', static_cast<char>(level + 1)}).set_item();
    }
    if (level > 0) pickle.op('0');
  }
  const std::string file = archive(add_weight_tensor(pickle).stop());
  const Checkpoint checkpoint = Checkpoint::open(as_bytes(file), "memory");
  CHECK(checkpoint.state_dict_path.empty());
  // Each value that is made is a step, and each opcode is a step. This makes about 5 steps for each entry.
  CHECK(checkpoint.budget().charged_steps() < 8 * entries);
}

TEST_CASE("tensors may overlap, but their sum is limited to a multiple of the file") {
  const int64_t elements = 1 << 18;
  const std::string data(4 * elements, '\0');
  const auto file = [&](int64_t tensors) {
    PickleWriter pickle;
    pickle.empty_dict();
    for (int64_t i = 0; i < tensors; ++i) {
      pickle.text("w" + std::to_string(i)).begin_tensor().storage("FloatStorage", "0", elements);
      pickle.end_tensor(i, {elements - 100}, {1}).set_item();
    }
    return archive(pickle.stop(), data);
  };
  CHECK(error_of_opening("48 parts of one storage", file(48)) == "");
  CHECK(contains(error_of_opening("100 parts of one storage", file(100)), "more than 64 times the file's"));
}

TEST_CASE("any number of names may stand for one tensor, which is read once") {
  const int64_t elements = 1 << 12, names = 5000;
  PickleWriter pickle;
  pickle.empty_dict().global("torch._utils", "_rebuild_tensor_v2").mark().storage("FloatStorage", "0", elements);
  pickle.integer(0)
      .tuple({64, 64})
      .tuple({64, 1})
      .boolean(false)
      .none()
      .op('t')
      .reduce()
      .append("q\x02")
      .op('0')
      .mark();
  for (int64_t i = 0; i < names; ++i) pickle.text("w" + std::to_string(i)).append("h\x02");
  const std::string file = archive(pickle.op('u').stop(), std::string(4 * elements, '\0'));
  CHECK(error_of_opening("5,000 names of one tensor", file) == "");
  const Checkpoint checkpoint = Checkpoint::open(as_bytes(file), "memory");
  REQUIRE(checkpoint.tensors.size() == names);
  Report report;
  linformer::writer::ModelBuilder builder;
  WeightWriter weights(checkpoint, builder, report, {});
  for (const Tensor& tensor : checkpoint.tensors) weights.linear("w", tensor, nullptr, {64, "out"}, {64, "in"});
  CHECK(builder.description.tensors.size() == 1);
  CHECK(checkpoint.budget().charged_reads() == 4 * elements);
}

TEST_CASE("archives and headers of many small entries stay within the budget") {
  std::vector<HandZipEntry> entries{{"a/data.pkl", add_weight_tensor(PickleWriter().empty_dict()).stop()}};
  entries.push_back({"a/data/0", std::string(32, '\0')});
  for (int i = 0; i < 20000; ++i) entries.push_back({std::to_string(i), ""});
  CHECK(error_of_opening("20,000 entries of a zip archive", zip_archive(entries)) == "");
  std::string header = "{";
  for (int i = 0; i < 20000; ++i) {
    header += (i ? ",\"" : "\"") + std::to_string(i) + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  }
  CHECK(error_of_opening("20,000 tensors of safetensors", safetensors_file(header + "}", "")) == "");
}

TEST_CASE("JSON of many small values stays within the budget") {
  const auto settings = [](const std::string& unit) { return "{\"a\":[" + repeated(unit + ",", 200000) + "0]}"; };
  for (const char* unit : {"0", "[]", "{}", "\"\"", "null", "[[]]", "0.5"}) {
    const std::string text = settings(unit);
    const std::string error = error_within_budget(unit, text.size(), [&] {
      ValueStore store;
      parse_json(store, text, "settings");
    });
    CHECK(error == "");
  }
  const std::string deep(1 << 20, '[');
  CHECK(contains(error_within_budget("[ 2^20 times", deep.size(),
                                     [&] {
                                       ValueStore store;
                                       parse_json(store, deep, "settings");
                                     }),
                 "nests deeper than 64"));
}

}  // namespace linformer_test::readers_cost_test
