// Writes the inputs of the counted runs into a folder: a random model in each of three precisions, ids.jsonl for the
// models, and texts.txt for a tokenizer. The bytes are the same each time.
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/chance.h"
#include "support/random_model.h"

namespace {

using namespace linformer_test;

constexpr uint32_t longest = 256, vocabulary = 1000;

void write_models(const std::string& folder) {
  RandomModel shape;
  shape.n = longest;
  shape.k = 64;
  shape.d_model = 128;
  shape.heads = 4;
  shape.ffn = 512;
  shape.layers = 2;
  shape.vocabulary = vocabulary;
  shape.masked_lm = false;
  using enum linformer::ElementType;
  for (const auto& [type, name] : {std::pair(f32, "f32"), std::pair(bf16, "bf16"), std::pair(int8, "int8")}) {
    shape.type = type;
    random_builder(shape).write(folder + "/" + name + ".lnfr");
  }
}

// Writes short and long texts, because the layers of a Linformer compute attention in different ways for them.
void write_ids(const std::string& folder) {
  std::ofstream out(folder + "/ids.jsonl");
  for (const uint32_t count : {longest, 200u, 17u, 96u, longest, 5u}) {
    const std::vector<int32_t> ids = random_ids(count, count, vocabulary);
    for (size_t i = 0; i < ids.size(); ++i) out << (i == 0 ? "[" : ",") << ids[i];
    out << "]\n";
  }
  if (!out.flush()) throw std::runtime_error("can't write ids.jsonl");
}

// Writes invented words of one to four syllables, few of which occur twice, and a few non-ASCII characters.
void write_texts(const std::string& folder) {
  std::ofstream out(folder + "/texts.txt");
  Chance chance(1);
  for (int line = 0; line < 200; ++line) {
    const uint32_t words = chance.pick(5, 40);
    for (uint32_t word = 0; word < words; ++word) {
      if (word > 0) out << (chance.one_in(8) ? ", " : " ");
      const uint32_t syllables = chance.pick(1, 4);
      for (uint32_t i = 0; i < syllables; ++i) {
        out << chance.one_of({"b", "d", "f", "gr", "k", "l", "m", "n", "pr", "s", "st", "t", "v", "w"})
            << chance.one_of({"a", "e", "i", "o", "u", "ai", "ea", "ou", "\xc3\xa9"})
            << chance.one_of({"", "", "n", "r", "s", "t", "ng", "lly"});
      }
    }
    out << chance.one_of({".\n", "!\n", "?\n", " \xe2\x80\xa6\n"});
  }
  if (!out.flush()) throw std::runtime_error("can't write texts.txt");
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) return 2;
  write_models(arguments[1]);
  write_ids(arguments[1]);
  write_texts(arguments[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
