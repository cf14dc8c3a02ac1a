// Tests gzip as input. The program reads the uncompressed content, whatever the file's name, in bounded memory.
#include <doctest/doctest.h>

#include <random>

#include "arrays.h"
#include "command_line/errors.h"
#include "input/records.h"
#include "input_files.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::gzip_test {

using namespace linformer::cli;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns all lines. If reading fails, returns the lines before the error, then "ERROR: " and the error's message.
std::string read_all(const std::string& content) {
  const Folder folder;
  ByteSource source(folder.file("input", content));
  std::string result, line;
  try {
    while (source.read_line(&line, 1 << 30) == LineResult::line) result += line + "\n";
  } catch (const DataError& error) {
    return result + "ERROR: " + error.what();
  }
  return result;
}

}  // namespace

TEST_CASE("gzip: members, zero padding and data of every size are read") {
  CHECK(read_all(gzipped("one\ntwo\n")) == "one\ntwo\n");
  CHECK(read_all(gzipped("")) == "");
  CHECK(read_all(gzipped("one\n") + gzipped("") + gzipped("two\n")) == "one\ntwo\n");
  CHECK(read_all(gzipped("one\n") + std::string(70000, '\0')) == "one\n");
  CHECK(has(read_all(gzipped("one\n") + "x"), "one\nERROR: "));
  CHECK(has(read_all(gzipped("one\n") + "x"), "input: other bytes follow the gzip data"));
  CHECK(has(read_all(gzipped("one\n") + std::string(3, '\0') + gzipped("two\n")), "other bytes follow"));
  std::mt19937 random(7);
  std::string noise;
  for (int i = 0; i < 300000; ++i) noise += static_cast<char>('a' + random() % 26);
  noise += "\n";
  for (const int level : {0, 1, 9}) CHECK(read_all(gzipped(noise, level)) == noise);
}

TEST_CASE("gzip: damage is an error after the undamaged lines") {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string whole = gzipped(text);
  for (const size_t size : {size_t{2}, size_t{9}, size_t{18}, whole.size() / 2, whole.size() - 8, whole.size() - 1}) {
    CAPTURE(size);
    const std::string read = read_all(whole.substr(0, size));
    CHECK(has(read, "ERROR: "));
    CHECK(has(read, "input: the gzip data is cut short"));
    if (size > whole.size() / 3) CHECK(read.starts_with("line 0\nline 1\n"));
  }
  std::string wrong = whole;
  wrong[wrong.size() - 6] ^= 1;  // a bit of the CRC
  CHECK(read_all(wrong).starts_with(text));
  CHECK(has(read_all(wrong), "the gzip data is damaged (incorrect data check)"));
  CHECK(has(read_all("\x1F\x8B\x08rest\n"), "the gzip data is damaged"));
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {  // random damage
    std::string bad = whole.substr(0, 4000);
    for (int i = 0; i < 3; ++i) bad[2 + random() % (bad.size() - 2)] = static_cast<char>(random());
    CHECK(has(read_all(bad), "ERROR: "));
  }
}

TEST_CASE("gzip: every command reads it, and the name before .gz gives the format") {
  const CliFixture f({.embedding = true});
  const std::string lines = "{\"text\":\"good [MASK]\",\"k\":1}\n{\"text\":\"bad [MASK]\",\"k\":2}\n";
  const std::string table = "k,text\n1,good [MASK]\n2,bad [MASK]\n";
  const std::string plain_text = "good [MASK]\nbad [MASK]\n";
  const std::pair<std::string, std::string> files[] = {{"a.jsonl", lines}, {"a.csv", table}, {"a.txt", plain_text}};
  for (const auto& named : files) {
    const auto& name = named.first;
    const auto& content = named.second;
    CAPTURE(name);
    const std::string plain = f.file(name, content), zipped = f.file(name + ".gz", gzipped(content));
    const std::string upper = f.file(name + ".GZ", gzipped(content));
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"classify", f.model(), "--json", "-i"},
                                               {"embed", f.model(), "--json", "-i"},
                                               {"fill-mask", f.model(), "--json", "-i"},
                                               {"tokenize", f.model(), "-i"},
                                               {"encode", f.model(), "-o", "-", "-i"},
                                               {"perplexity", f.model(), "--json", "-i"}}) {
      CAPTURE(command[0]);
      const auto with = [&](const std::string& path) {
        std::vector<std::string> arguments = command;
        arguments.push_back(path);
        return run(arguments);
      };
      const Ran expected = with(plain);
      CHECK(expected.code == 0);
      CHECK(with(zipped).out == expected.out);
      CHECK(with(zipped).err == expected.err);
      CHECK(with(upper).out == expected.out);
    }
  }
  const Ran pipe = run({"classify", f.model(), "-", "--format", "csv", "--id", "k"}, gzipped(table));
  CHECK(pipe.out == run({"classify", f.model(), "-", "--format", "csv", "--id", "k"}, table).out);
  const std::string ids = npy_of_ids({{2, 5, 3}});
  const Ran array = run({"encode", f.model(), "--ids", f.file("ids.npy.gz", gzipped(ids)), "-o", "-"});
  CHECK(array.out == run({"encode", f.model(), "--ids", f.file("ids.npy", ids), "-o", "-"}).out);
  const Ran list = run({"encode", f.model(), "--ids", f.file("ids.jsonl.gz", gzipped("[2,5,3]\n")), "-o", "-"});
  CHECK(list.out == array.out);
}

TEST_CASE("gzip: lines are answered as they arrive, and a decompression bomb takes only the memory of one long line") {
  const CliFixture f;
  Conversation talk({"classify", f.model(), "-", "--json", "--max-line-bytes", "1000000", "--threads", "1"});
  CHECK(talk.write(gzipped("good\n")));
  CHECK(has(talk.read_line(), "\"label\":\"pos\""));
  const std::string bomb = gzipped(std::string(64 << 20, 'x') + "\ngood\n", 9);
  CHECK(bomb.size() < (100 << 10));
  CHECK(talk.write(bomb));
  CHECK(has(talk.read_line(), "longer than 1000000 bytes"));
  CHECK(has(talk.read_line(), "\"label\":\"pos\""));
  if (measures_memory) CHECK(talk.resident() < (48 << 20));
  talk.close_input();
  CHECK(talk.wait() == 1);
}

}  // namespace linformer_test::gzip_test
