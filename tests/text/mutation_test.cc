// Damages texts, descriptions and files at random. Each must give a result or an error, and never a fault.
#include <doctest/doctest.h>

#include <bit>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/description.h"
#include "converter/readers/error.h"
#include "support/files.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "text/golden_lines.h"
#include "text/legacy_truncation.h"
#include "text/tokenizer_factory.h"

namespace linformer_test::mutation_test {

using namespace linformer;

namespace {

// Makes one to eight changes: it flips bits, changes bytes, removes or repeats parts.
void mutate(std::string* bytes, std::mt19937& random) {
  for (uint32_t left = 1 + random() % 8; left > 0; --left) {
    if (bytes->empty()) bytes->push_back(static_cast<char>(random()));
    const size_t at = random() % bytes->size();
    switch (random() % 5) {
      case 0:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << random() % 8));
        break;
      case 1:
        (*bytes)[at] = static_cast<char>(random());
        break;
      case 2:
        bytes->erase(at, 1 + random() % 8);
        break;
      case 3:
        bytes->insert(at, bytes->substr(random() % bytes->size(), random() % 12));
        break;
      default:
        (*bytes)[at] = "0919-\"[]{}, \n\xC3\xA9<"[random() % 17];
    }
  }
}

uint32_t odd_number(uint32_t near, std::mt19937& random) {
  const uint32_t values[] = {0,
                             1,
                             near + 1,
                             near - 1,
                             near ^ (1u << random() % 32),
                             0x7FFFFFFF,
                             0x80000000,
                             0xFFFFFFFF,
                             static_cast<uint32_t>(random() % 1000)};
  return values[random() % std::size(values)];
}

// Encodes and decodes a text, and checks that the result is consistent, whatever the tokenizer is.
void encode_decode_and_check(const Tokenizer& tokenizer, std::string_view text, std::mt19937& random,
                             Encoding* encoding, TextBuffer* decoded) {
  EncodeOptions options;
  options.add_special_tokens = random() % 2 == 0;
  options.match_special_tokens = random() % 4 != 0;
  options.token_strings = random() % 2 == 0;
  options.truncation = static_cast<Truncation>(random() % 4);
  options.keep = random() % 2 == 0 ? Keep::head : Keep::tail;
  const bool legacy_truncation = random() % 4 == 0;
  options.max_length = random() % 3 == 0 ? 0 : static_cast<int64_t>(random() % 40);
  const std::string_view whole[] = {text};
  const std::string_view halves[] = {text.substr(text.size() / 2), text.substr(0, text.size() / 2)};
  const bool two = random() % 3 == 0;
  const Status status = legacy_truncation ? LegacyTruncation::encode(tokenizer,
                                                                     two ? std::span<const std::string_view>(halves)
                                                                         : std::span<const std::string_view>(whole),
                                                                     options, encoding)
                        : two             ? tokenizer.encode(halves[0], halves[1], options, encoding)
                                          : tokenizer.encode(text, options, encoding);
  if (!status.ok()) {
    REQUIRE(status.message()[0] != '\0');
    return;
  }
  const size_t tokens = encoding->ids().size();
  REQUIRE(encoding->offsets().size() == tokens);
  REQUIRE(encoding->special_mask().size() == tokens);
  REQUIRE(encoding->type_ids().size() == tokens);
  REQUIRE(encoding->sequence_ids().size() == tokens);
  if (options.max_length != 0 && options.truncation != Truncation::none && !legacy_truncation) {
    REQUIRE(static_cast<int64_t>(tokens) <= options.max_length);
  }
  size_t outside = 0;
  for (size_t i = 0; i < tokens; ++i) {
    const Offset offset = encoding->offsets()[i];
    outside += encoding->ids()[i] < 0 || offset.begin > offset.end || offset.end > text.size();
    outside += encoding->token(i).size() > 4096;
  }
  REQUIRE(outside == 0);
  const Status decoding = tokenizer.decode(encoding->ids(), {}, decoded);
  REQUIRE((decoding.ok() || decoding.code() == Code::invalid_argument));
}

// A description whose views point to copies, which a test can damage.
struct LooseDescription {
  explicit LooseDescription(const convert::OwnedTokenizer& from) : owned(from) {}
  convert::OwnedTokenizer owned;

  void damage(std::mt19937& random) {
    auto& description = owned.description;
    const auto damage_array = [&](auto& array) {
      if (array.empty() || random() % 3 == 0) {
        if (random() % 2 == 0)
          array.push_back(static_cast<typename std::decay_t<decltype(array)>::value_type>(random()));
        return;
      }
      auto& value = array[random() % array.size()];
      value = static_cast<std::decay_t<decltype(value)>>(odd_number(static_cast<uint32_t>(value), random));
      if (random() % 8 == 0) array.resize(random() % array.size());
    };
    for (uint32_t left = 1 + random() % 3; left > 0; --left) {
      switch (random() % 15) {
        case 0:
          damage_array(owned.token_offsets);
          break;
        case 1:
          damage_array(owned.token_bytes);
          break;
        case 2:
          if (owned.token_ids.empty()) owned.token_ids.assign(owned.token_offsets.size() - 1, 5);
          damage_array(owned.token_ids);
          break;
        case 3:
          damage_array(owned.merges);
          break;
        case 4:
          damage_array(description.single_template);
          break;
        case 5:
          damage_array(description.pair_template);
          break;
        case 6:
          damage_array(description.pair_types);
          break;
        case 7: {
          AddedToken token;
          token.content = read_piece(random);
          token.id = static_cast<int32_t>(random() % 500);
          token.single_word = random() % 2;
          token.strip_left = random() % 2;
          token.strip_right = random() % 2;
          token.normalized = random() % 2;
          description.added_tokens.push_back(token);
          break;
        }
        case 8:
          description.unk = static_cast<int32_t>(odd_number(3, random));
          break;
        case 9:
          description.kind = static_cast<TokenizerKind>(random() % 5);
          break;
        case 12:
          damage_array(owned.charsmap);
          damage_array(owned.token_uses);
          break;
        case 13: {
          auto& scores = owned.scores;
          if (!scores.empty()) scores[random() % scores.size()] = std::bit_cast<float>(static_cast<uint32_t>(random()));
          damage_array(owned.exact_scores);
          break;
        }
        case 14: {
          TokenizerRules& unigram = description.rules;
          unigram.sentencepiece = random() % 2;
          unigram.split_white_space = random() % 2;
          unigram.mark_spaces = random() % 2;
          unigram.split_words = random() % 2;
          unigram.prefix_mark = static_cast<PrefixMark>(random() % 3);
          unigram.remove_extra_spaces = random() % 2;
          unigram.mark_behind = random() % 2;
          unigram.byte_fallback = random() % 2;
          unigram.keep_parts = random() % 2;
          unigram.fuse_unknown = random() % 2;
          unigram.ignore_merges = random() % 2;
          for (uint32_t splits = random() % 4; splits > 0; --splits) {
            const auto kind = static_cast<SplitKind>(random() % 11);
            const auto behavior = static_cast<SplitBehavior>(random() % 3 == 0 ? random() % 6 : 0);
            unigram.splits.push_back({kind, behavior, read_piece(random)});
          }
          for (uint32_t steps = random() % 4; steps > 0; --steps) {
            unigram.steps.push_back(
                {static_cast<NormalizerKind>(random() % 14), read_piece(random), read_piece(random)});
          }
          break;
        }
        case 10:
          description.continuing_prefix = read_piece(random);
          description.max_word_characters = odd_number(100, random);
          break;
        default:
          description.add_prefix_space = random() % 2;
          description.trim_offsets = random() % 2;
          description.lowercase = random() % 2;
          description.strip_accents = random() % 2;
          description.clean_text = random() % 2;
          description.split_cjk = random() % 2;
      }
    }
  }

 private:
  static std::string read_piece(std::mt19937& random) {
    const char* pieces[] = {"", "a", " ", "the", "##", "\u00e9", "\u0130", "\xFF", "  b ", "e\u0301", "ing"};
    return std::string(pieces[random() % std::size(pieces)]) + pieces[random() % std::size(pieces)];
  }
};

std::vector<convert::OwnedTokenizer> all_tokenizers() {
  std::vector<convert::OwnedTokenizer> loaded;
  for (const char* name : {"bpe", "bpe_json", "bpe_nfc_json", "bpe_cl100k_json", "bpe_gemma_json", "fairseq",
                           "wordpiece", "wordpiece_json", "unigram_json", "unigram_steps_json", "unigram_text_json",
                           "sentencepiece", "sentencepiece_bytes"}) {
    loaded.push_back(convert::load_tokenizer(test_data_path(std::string("tokenizers/") + name)));
  }
  return loaded;
}

std::vector<std::string> seed_texts() {
  std::vector<std::string> texts;
  for (const char* file : {"tokenizers/bpe_json/cases.jsonl", "tokenizers/wordpiece_json/cases.jsonl"}) {
    std::ifstream lines(test_data_path(file));
    for (std::string line; std::getline(lines, line);) texts.push_back(nlohmann::json::parse(line)["a"]);
  }
  return texts;
}

}  // namespace

TEST_CASE("damaged texts give consistent results") {
  std::vector<LoadedTokenizer> loaded;
  for (const auto& files : all_tokenizers()) loaded.emplace_back(files);
  const auto seeds = seed_texts();
  std::mt19937 random(31);
  Encoding encoding;
  TextBuffer decoded;
  constexpr int rounds = 60000;
  for (int round = 0; round < rounds; ++round) {
    std::string text = seeds[random() % seeds.size()] + seeds[random() % seeds.size()];
    mutate(&text, random);
    encode_decode_and_check(loaded[random() % loaded.size()].tokenizer, text, random, &encoding, &decoded);
  }
  std::printf("damaged texts: %d\n", rounds);
}

TEST_CASE("damaged descriptions give an error or a tokenizer with consistent results") {
  const auto originals = all_tokenizers();
  const auto seeds = seed_texts();
  std::mt19937 random(32);
  TextBuffer decoded;
  Encoding encoding;
  constexpr int rounds = 30000;
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    LooseDescription loose(originals[random() % originals.size()]);
    loose.damage(random);
    const TokenizerDescription description = loose.owned.view();
    auto tokenizer = TokenizerFactory::create(description);
    if (!tokenizer.ok()) {
      REQUIRE(tokenizer.status().message()[0] != '\0');
      ++refused;
      continue;
    }
    encode_decode_and_check(*tokenizer, seeds[random() % seeds.size()], random, &encoding, &decoded);
  }
  std::printf("damaged descriptions: %d, refused %d\n", rounds, refused);
  CHECK(refused > rounds / 10);
  CHECK(refused < rounds);
}

TEST_CASE("damaged files give an error or a tokenizer with consistent results") {
  namespace fs = std::filesystem;
  const TemporaryFolder work;
  const fs::path folder = work.path("tokenizer");
  const struct {
    const char* folder;
    std::vector<const char*> files;
  } sets[] = {{"bpe", {"vocab.json", "merges.txt"}},  {"fairseq", {"encoder.json", "vocab.bpe", "dict.txt"}},
              {"bpe_json", {"tokenizer.json"}},       {"wordpiece", {"vocab.txt"}},
              {"wordpiece_json", {"tokenizer.json"}}, {"unigram_steps_json", {"tokenizer.json"}},
              {"sentencepiece", {"spiece.model"}},    {"sentencepiece_bytes", {"spiece.model"}}};
  std::mt19937 random(33);
  Encoding encoding;
  TextBuffer decoded;
  int refused = 0, used = 0;
  // Each file is written as a new file, because some file systems flush a file that is overwritten, which takes most of
  // the test's time.
  const auto write = [&](const char* file, const std::string& content) {
    fs::remove(folder / file);
    std::ofstream(folder / file, std::ios::binary) << content;
  };
  for (const auto& set : sets) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    std::vector<std::string> contents;
    for (const char* file : set.files) {
      contents.push_back(read_file(test_data_path(std::string("tokenizers/") + set.folder + "/" + file)));
      std::ofstream(folder / file, std::ios::binary) << contents.back();
    }
    for (int round = 0; round < 2000; ++round) {
      const size_t damaged = random() % contents.size();
      std::string content = contents[damaged];
      mutate(&content, random);
      write(set.files[damaged], content);
      try {
        const auto owned = convert::load_tokenizer(folder.string());
        const TokenizerDescription description = owned.view();
        auto tokenizer = TokenizerFactory::create(description);
        // The runtime accepts the files that the converter accepts, except for limits that only the runtime has.
        REQUIRE_MESSAGE((tokenizer.ok() || tokenizer.status().code() == Code::unsupported),
                        tokenizer.status().message());
        if (tokenizer.ok())
          encode_decode_and_check(*tokenizer, "the keeper's 12 boats \u00e9", random, &encoding, &decoded);
        ++used;
      } catch (const convert::Error& error) {
        REQUIRE(error.what()[0] != '\0');
        ++refused;
      }
      write(set.files[damaged], contents[damaged]);
    }
  }
  std::printf("damaged files: %d read, %d refused\n", used, refused);
  CHECK(used > 100);
  CHECK(refused > 1000);
}

}  // namespace linformer_test::mutation_test
