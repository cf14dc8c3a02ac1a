#include "input/json_array.h"

#include <doctest/doctest.h>

#include <random>

#include "input/records.h"
#include "input_files.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::json_array_test {

using namespace linformer::cli;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Strings = std::vector<std::string>;

// Returns the elements, with "ERROR" for each bad one, and last the message of the error that stopped the reading, if
// any.
Strings elements_of(const std::string& content, size_t max_bytes = 1 << 20, std::vector<uint64_t>* lines = nullptr) {
  const Folder folder;
  ByteSource source(folder.file("input", content));
  JsonArray array(&source, max_bytes, 1);
  Strings found;
  std::string element, error;
  try {
    while (array.next(&element, &error)) {
      found.push_back(error.empty() ? element : "ERROR");
      if (lines) lines->push_back(array.line());
      CHECK(array.element_number() == found.size());
    }
  } catch (const DataError& stopped) {
    found.push_back(stopped.what());
  }
  return found;
}

json random_value(std::mt19937* random, int depth) {
  switch ((*random)() % (depth > 3 ? 4 : 6)) {
    case 0:
      return (*random)() % 100;
    case 1:
      return nullptr;
    case 2:
      return "a\\\"]},[{ \n" + std::to_string((*random)() % 10);
    case 3:
      return 1.5;
    case 4: {
      json list = json::array();
      for (size_t i = (*random)() % 4; i > 0; --i) list.push_back(random_value(random, depth + 1));
      return list;
    }
    default: {
      json object = json::object();
      for (size_t i = (*random)() % 4; i > 0; --i) {
        object["k\"" + std::to_string(i)] = random_value(random, depth + 1);
      }
      return object;
    }
  }
}

}  // namespace

TEST_CASE("array: elements are returned as they are written") {
  CHECK(elements_of("[]") == Strings{});
  CHECK(elements_of("[ \n ] \n") == Strings{});
  CHECK(elements_of("[1]") == Strings{"1"});
  CHECK(elements_of("[ {\"a\": [1, 2]} , \"x,]\\\"\" ]\n") == Strings{"{\"a\": [1, 2]}", "\"x,]\\\"\""});
  std::vector<uint64_t> lines;
  CHECK(elements_of("[\n{\n\"a\":1},\n\n{}\n,2]", 1 << 20, &lines) == Strings{"{\n\"a\":1}", "{}", "2"});
  CHECK(lines == std::vector<uint64_t>{2, 5, 6});
  CHECK(elements_of("[1,,2,]") == Strings{"1", "ERROR", "2", "ERROR"});
  CHECK(elements_of("[,]") == Strings{"ERROR", "ERROR"});
  CHECK(elements_of("[\"" + std::string(100, 'x') + "\",2]", 50) == Strings{"ERROR", "2"});
}

TEST_CASE("array: a missing end and content after the end are errors") {
  CHECK(has(elements_of("[").at(0), "input:1: the JSON array has no end"));
  CHECK(has(elements_of("[1,\n").at(1), "input:2: the JSON array has no end"));
  CHECK(has(elements_of("[{\"a\":").at(0), "no end"));
  CHECK(elements_of("[{\"a\":1}").at(0) == "{\"a\":1}");
  CHECK(has(elements_of("[{\"a\":1}").at(1), "no end"));
  CHECK(has(elements_of("[1]\n[2]\n").at(1), "input:2: more follows the JSON array"));
}

TEST_CASE("array: random arrays are split as a JSON parser reads them, and cut ones end in an error") {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    json array = json::array();
    for (size_t i = random() % 6; i > 0; --i) array.push_back(random_value(&random, 0));
    const std::string text = array.dump(static_cast<int>(random() % 3) - 1);
    const Strings found = elements_of(text);
    CAPTURE(text);
    REQUIRE(found.size() == array.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(json::parse(found[i]) == array[i]);
    const Strings cut = elements_of(text.substr(0, text.size() - 1));
    CHECK(has(cut.back(), "no end"));
  }
}

TEST_CASE("a JSON array of records has the same answers as the records in lines") {
  const CliFixture f;
  const Strings records = {"{\"text\":\"good\",\"k\":\"a\"}", "{\"text\":\"bad\",\"k\":\"b\"}", "{\"k\":\"c\"}", "5"};
  const std::string lines = records[0] + "\n" + records[1] + "\n" + records[2] + "\n" + records[3] + "\n";
  const auto ask = [&](const std::string& content, const std::string& name) {
    return run({"classify", f.model(), "-i", f.file(name, content), "--id", "k"});
  };
  const Ran expected = ask(lines, "in.jsonl");
  CHECK(expected.code == 1);
  for (const std::string& between : Strings{",", ",\n", " ,\n  "}) {
    const std::string array =
        "[" + records[0] + between + records[1] + between + records[2] + between + records[3] + "]";
    for (const char* name : {"in.json", "in.jsonl"}) {
      const Ran ran = ask(array, name);
      CHECK(ran.code == 1);
      const auto found = lines_of(ran.out), wanted = lines_of(expected.out);
      REQUIRE(found.size() == 4);
      for (const size_t i : {0u, 1u}) CHECK(found[i] == wanted[i]);
      CHECK(has(found[2], "c\tERROR\t\t"));
      CHECK(has(found[2], ": element 3: no field 'text'"));
      CHECK(has(found[3], ": element 4: not a JSON object"));
    }
    const Ran pipe = run({"classify", f.model(), "-", "--format", "jsonl", "--id", "k"}, array);
    CHECK(lines_of(pipe.out).at(1) == lines_of(expected.out).at(1));
    CHECK(pipe.out == run({"classify", f.model(), "-", "--format", "jsonl", "--id", "k"}, gzipped(array)).out);
  }
  const Ran cut = ask("[" + records[0] + "," + records[1], "in.json");
  CHECK(cut.code == 1);
  CHECK(lines_of(cut.out).size() == 2);
  CHECK(has(cut.err, "in.json:1: the JSON array has no end; the file is cut short"));
  CHECK(has(ask("[{\"k\":" + std::string(100000, '[') + "]", "in.json").err, "no end"));
  const Ran deep = ask("[{\"k\":" + std::string(100, '[') + std::string(100, ']') + "}]", "in.json");
  CHECK(has(deep.out, "nested deeper than 64"));
  CHECK(has(ask("[" + records[0] + "]\n" + records[1] + "\n", "in.json").err, "more follows the JSON array"));
}

TEST_CASE("the elements of a JSON array are answered as they arrive, in the memory of one element") {
  const CliFixture f;
  Conversation talk({"classify", f.model(), "-", "--format", "jsonl", "--json", "--threads", "1"});
  CHECK(talk.write("[\n"));
  std::string block;
  for (int i = 0; i < 1000; ++i) block += "{\"text\":\"a good film , the plot\"},\n";
  uint64_t warm = 0;
  for (int round = 0; round < 200 / input_divisor; ++round) {
    REQUIRE(talk.write(block));
    for (int i = 0; i < 1000; ++i) REQUIRE(talk.read_line() != "");
    if (round == 20) warm = talk.resident();
  }
  if (measures_memory) CHECK(talk.resident() < warm + (1 << 20));
  CHECK(warm > 0);
  CHECK(talk.write("{\"text\":\"bad\"}]\n"));
  CHECK(json::parse(talk.read_line())["label"] == "neg");
  talk.close_input();
  CHECK(talk.wait() == 0);
}

}  // namespace linformer_test::json_array_test
