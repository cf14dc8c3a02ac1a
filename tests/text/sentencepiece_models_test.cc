// Compares random SentencePiece models, valid and damaged, with SentencePiece's library. Ids and pieces must be equal,
// or the model must be refused. The variable LINFORMER_SENTENCEPIECE_MODELS sets the number of models of each kind, by
// default 200. Models with differences are kept in the folder that LINFORMER_SENTENCEPIECE_KEEP names.
#include <doctest/doctest.h>
#include <sentencepiece_processor.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "converter/readers/error.h"
#include "support/temporary_folder.h"
#include "text/golden_lines.h"
#include "text/sentencepiece_message.h"
#include "text/tokenizer_factory.h"

namespace linformer_test::sentencepiece_models_test {

using namespace linformer;

namespace {

using Random = std::mt19937;
enum PieceType { normal = 1, unknown, control, user_defined, unused, byte };

const std::vector<std::string> words = {
    "\u2581the",  "\u2581", "the",    "keeper",  "keep",         "er",           "ing",       "\u2581a", "a",
    "b",          "e",      "\u00e9", "e\u0301", "\u0301",       "\ufb01",       "fi",        "\u6771",  "\u4eac",
    "1",          "12",     ".",      "...",     "\u2581\u2581", "aa",           "aaa",       "ab",      " ",
    "a b",        "A",      "\u0130", "<mask>",  "\uac00",       "\u1100\u1161", "the\u2581", "a\u2581", "\u2581\u6771",
    "\U0001f600", "<0x41>", "x",      "\u00df",  "\u0915\u094d", "\ufffd"};

template <class Type>
const Type& any_of(const std::vector<Type>& all, Random& random) {
  return all[random() % all.size()];
}
bool chance(Random& random, uint32_t percent) { return random() % 100 < percent; }

std::string random_rules(Random& random) {
  static const std::vector<std::string> texts = {"a",      "A",      "e",  "\u00e9", "e\u0301", "\ufb01", "the",    " ",
                                                 "  ",     "\t",     "ab", "\u6771", "\u2581",  "1",      "\u3000", "x",
                                                 "\u00a0", "<mask>", ".",  "\u0301", "aa",      "\n",     "\uac00"};
  static const std::vector<std::string> replacements = {"",  " ",  "a",      "b",   "fi",     "\u2581", "  x ",
                                                        "e", "  ", "\u00e9", "the", "\u6771", " a",     "b "};
  std::map<std::string, std::string> rules;
  for (uint32_t left = random() % 12; left > 0; --left) rules[any_of(texts, random)] = any_of(replacements, random);
  return rules.empty() ? "" : CompiledRules(rules).bytes();
}

struct Model {
  std::string bytes, rules;
};

Model random_model(Random& random) {
  std::vector<std::string> pieces;
  std::vector<std::string> names = words;
  std::shuffle(names.begin(), names.end(), random);
  names.resize(names.size() - random() % 20);
  const bool fallback = chance(random, 30);
  const auto add = [&](const std::string& name, float score, int type) {
    pieces.push_back(field(1, field(1, name) + float_field(2, score) + field(3, type)));
  };
  add("<unk>", 0, unknown);
  add("<s>", 0, control);
  add("</s>", 0, control);
  const int digits = static_cast<int>(random() % 3);
  for (const std::string& name : names) {
    float score = -static_cast<float>(random() % 1000) / 80;
    if (digits == 0) score = static_cast<float>(static_cast<int>(score));  // Many sums are equal then.
    if (chance(random, 2)) score = 3;
    const uint32_t kind = random() % 100;
    add(name, score, kind < 80 ? normal : kind < 90 ? user_defined : kind < 95 ? unused : control);
  }
  if (fallback || chance(random, 3)) {
    for (int value = 0; value < 256; ++value) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", value);
      if (std::find(names.begin(), names.end(), name) == names.end()) add(name, 0, byte);
    }
  }
  if (chance(random, 50)) std::shuffle(pieces.begin(), pieces.end(), random);
  std::string all;
  for (const std::string& one : pieces) all += one;
  std::string trainer;
  if (chance(random, 80)) trainer += field(3, chance(random, 5) ? 2 : 1);
  if (chance(random, 25)) trainer += field(24, 1);
  if (fallback) trainer += field(35, 1);
  std::string normalizer, rules;
  if (chance(random, 70)) rules = random_rules(random);
  if (!rules.empty()) normalizer += field(2, rules);
  for (const uint64_t number : {3u, 4u, 5u}) {
    if (chance(random, 60)) normalizer += field(number, static_cast<int>(random() % 2));
  }
  return {all + field(2, trainer) + field(3, normalizer), rules};
}

// Changes or removes a few bytes, or cuts off the end, so that most of the message stays as it is.
std::string damaged(std::string model, Random& random) {
  for (uint32_t left = 1 + random() % 3; left > 0; --left) {
    const size_t at = random() % model.size();
    const uint32_t kind = random() % 4;
    if (kind == 0) {
      model[at] = static_cast<char>(random());
    } else if (kind == 1) {
      model[at] = static_cast<char>(static_cast<uint8_t>(model[at]) ^ 1u << random() % 8);
    } else if (kind == 2) {
      model.erase(at, 1 + random() % 4);
    } else {
      model.resize(at);
    }
    if (model.empty()) return model;
  }
  return model;
}

std::string random_text(Random& random) {
  static const std::vector<std::string> others = {" ",      "  ",  "\t", "\n",      "\u3000",
                                                  "\u00a0", "The", "zz", "\u2581x", "<s>"};
  std::string text;
  for (uint32_t left = random() % 14; left > 0; --left) {
    text += chance(random, 70) ? any_of(words, random) : any_of(others, random);
    if (chance(random, 30)) text += ' ';
  }
  return text;
}

enum Outcome { equal, differs, refused, refused_by_the_library, damaged_rules, outcomes };
enum Stage { in_the_library = 1, in_ours };

// Compares one model with the library. It runs in a child process, because the library ends the process for some
// damaged models.
Outcome compare(const Model& model, const std::string& path, Random& random, volatile int* stage) {
  *stage = in_ours;
  std::ofstream(path, std::ios::binary) << model.bytes;
  std::optional<convert::OwnedTokenizer> files;
  try {
    files = convert::load_tokenizer(path);
  } catch (const convert::Error& error) {
    return std::string(error.what()).find(path) == 0 ? refused : differs;
  }
  const TokenizerDescription description = files->view();
  const Result<Tokenizer> tokenizer = TokenizerFactory::create(description);
  if (!tokenizer.ok()) return refused;
  // If the rules are damaged, the library reads out of bounds and its results mean nothing.
  const std::string rules(files->charsmap.begin(), files->charsmap.end());
  if (!rules.empty() && rules != model.rules) return damaged_rules;
  *stage = in_the_library;
  sentencepiece::SentencePieceProcessor library;
  try {
    if (!library.LoadFromSerializedProto(model.bytes).ok()) return refused_by_the_library;
  } catch (const std::exception&) {  // For example if a piece has no bytes.
    return refused_by_the_library;
  }
  Encoding encoding;
  EncodeOptions options;
  options.token_strings = true;
  for (int i = 0; i < 30; ++i) {
    const std::string text = random_text(random);
    std::vector<int> ids;
    std::vector<std::string> pieces;
    *stage = in_the_library;
    if (!library.Encode(text, &ids).ok() || !library.Encode(text, &pieces).ok()) continue;
    *stage = in_ours;
    const Status status = tokenizer.value().encode(text, options, &encoding);
    if (!status.ok()) continue;  // The rules make the text too long.
    if (ids_of(encoding) == ids && token_strings(encoding) == pieces) continue;
    const nlohmann::json shown = {
        {"text", text}, {"ours", {ids_of(encoding), token_strings(encoding)}}, {"theirs", {ids, pieces}}};
    std::fprintf(stderr, "%s\n", shown.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
    return differs;
  }
  return equal;
}

// Compares many models and counts them by outcome. The last count has the models for which the library ended the
// process.
std::vector<int> compare_models(bool damage, uint32_t seed) {
  const char* asked = std::getenv("LINFORMER_SENTENCEPIECE_MODELS");
  const int count = asked != nullptr ? std::atoi(asked) : 200;
  const TemporaryFolder folder;
  auto* stage = static_cast<volatile int*>(
      ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE((stage != MAP_FAILED));
  std::vector<int> counts(outcomes + 1);
  for (int number = 0; number < count; ++number) {
    CAPTURE(number);
    Random random(seed + static_cast<uint32_t>(number));
    Model model = random_model(random);
    if (damage) model.bytes = damaged(model.bytes, random);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (const int fault : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) ::signal(fault, SIG_DFL);
      ::_exit(compare(model, folder.path("x.model"), random, stage));
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : outcomes;
    if (outcome >= outcomes) {
      CHECK(*stage == in_the_library);
      ++counts[outcomes];
    } else {
      CHECK(outcome != differs);
      if (const char* kept = std::getenv("LINFORMER_SENTENCEPIECE_KEEP"); kept != nullptr && outcome == differs) {
        std::ofstream(std::string(kept) + "/" + std::to_string(number) + ".model", std::ios::binary) << model.bytes;
      }
      ++counts[static_cast<size_t>(outcome)];
    }
  }
  ::munmap(const_cast<int*>(stage), sizeof(int));
  std::printf(
      "%d %s models: %d equal, %d differ, %d refused, %d refused by the library alone, %d with damaged rules, "
      "%d ended the library\n",
      count, damage ? "damaged" : "random", counts[equal], counts[differs], counts[refused],
      counts[refused_by_the_library], counts[damaged_rules], counts[outcomes]);
  return counts;
}

}  // namespace

TEST_CASE("random SentencePiece models equal the library, or are refused") {
  const std::vector<int> counts = compare_models(false, 1000);
  CHECK(counts[equal] > 2 * counts[refused]);
}

TEST_CASE("damaged SentencePiece models equal the library, or are refused") {
  const std::vector<int> counts = compare_models(true, 1u << 30);
  CHECK(counts[equal] > 0);
  CHECK(counts[refused] > 0);
}

}  // namespace linformer_test::sentencepiece_models_test
