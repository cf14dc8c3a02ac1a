// Tests which file of a unigram tokenizer is read, and the errors for invalid files.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "converter/readers/error.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "text/golden_lines.h"
#include "text/sentencepiece_message.h"
#include "text/tokenizer_factory.h"

namespace linformer_test::unigram_files_test {

using namespace linformer;
using convert::load_tokenizer;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

class Folder : public TemporaryFolder {
 public:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::copy_file(test_data_path("tokenizers/" + from), path(to), fs::copy_options::overwrite_existing);
  }
};

std::string error_of(const std::string& path) {
  try {
    load_tokenizer(path);
  } catch (const convert::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("tokenizer.json is preferred to a .model file, and one of several .model files must be named") {
  Folder folder;
  folder.copy("sentencepiece/spiece.model", "first.model");
  CHECK(load_tokenizer(folder.path()).description.rules.sentencepiece);
  folder.copy("sentencepiece/spiece.model", "second.model");
  CHECK_MESSAGE(error_of(folder.path()).find("has 2 .model files") != std::string::npos, error_of(folder.path()));
  CHECK(load_tokenizer(folder.path("second.model")).description.rules.sentencepiece);
  folder.copy("sentencepiece_bytes/spiece.model", "sentencepiece.bpe.model");
  CHECK(load_tokenizer(folder.path()).description.rules.byte_fallback);
  folder.copy("sentencepiece/spiece.model", "spiece.model");
  CHECK(!load_tokenizer(folder.path()).description.rules.byte_fallback);
  folder.copy("unigram_json/tokenizer.json", "tokenizer.json");
  const auto loaded = load_tokenizer(folder.path());
  CHECK(!loaded.description.rules.sentencepiece);
  std::string notes;
  for (const std::string& note : loaded.notes) notes += note + "\n";
  CHECK(notes.find(folder.path("spiece.model") + " is not used") != std::string::npos);
}

TEST_CASE("fairseq's dictionary renumbers a .model file's pieces by name") {
  Folder folder;
  folder.copy("sentencepiece/spiece.model", "spiece.model");
  const LoadedTokenizer plain(load_tokenizer(folder.path()));
  folder.write("dict.txt", "\u2581the 9\n\u2581river 8\nmadeupword0000 0\n\u2581was 7\n");
  const convert::OwnedTokenizer files = load_tokenizer(folder.path());
  for (const std::string& note : files.notes) CHECK(note.find("nothing is put around texts") == std::string::npos);
  const LoadedTokenizer renumbered(load_tokenizer(folder.path()));
  CHECK(renumbered.description.mask == 8);
  Encoding encoding;
  EncodeOptions options;
  options.token_strings = true;
  REQUIRE(renumbered.tokenizer.encode("the river was wide <mask>", options, &encoding).ok());
  const auto ids = ids_of(encoding);
  REQUIRE(ids.size() > 6);
  CHECK(std::vector<int32_t>(ids.begin(), ids.begin() + 4) == std::vector<int32_t>{0, 4, 5, 7});
  CHECK(ids[4] == 3);  // A piece without a line becomes <unk>.
  CHECK(std::vector<int32_t>(ids.end() - 2, ids.end()) == std::vector<int32_t>{8, 2});
  folder.write("dict.txt", "12 9\n13 8\n");
  CHECK(error_of(folder.path()).find("it belongs to another tokenizer") != std::string::npos);
}

TEST_CASE("the error for an invalid .model file gives the reason") {
  Folder folder;
  const std::string unknown = piece("<unk>", 2), letter = piece("a", 1);
  const struct {
    std::string bytes;
    const char* sentence;
  } cases[] = {
      {unknown + letter, "no error"},
      {"", "has no pieces"},
      {"hello, this is no model", "is not a SentencePiece model"},
      {letter, "has no unknown piece"},
      {unknown + unknown, "has the piece \"<unk>\" twice"},
      {unknown + piece("<other>", 2), "has two unknown pieces, 0 and 1"},
      {unknown + piece("", 1), "piece 1 is empty"},
      {unknown + piece("\xFF", 1), "piece 1 is not valid UTF-8"},
      {unknown + piece("a", 9), "is of an unknown type, 9"},
      {unknown + field(1, field(1, "a") + "\x15" + std::string("\0\0\x80\x7f", 4)), "piece 1 has no finite score"},
      {unknown + letter + field(2, field(3, 2)), "is a BPE model, which is not supported"},
      {unknown + letter + field(2, field(3, 3)), "is a word model, which is not supported"},
      {unknown + letter + field(2, field(3, 4)), "is a char model, which is not supported"},
      {unknown + letter + field(2, field(3, 7)), "is of an unknown model type, 7"},
      {unknown + letter + field(2, field(35, 1)), "has 0 byte pieces; byte fallback needs 256"},
      {unknown + letter + field(3, field(2, "abcdefgh")), "the normalizer's rules can't be used"},
  };
  for (const auto& c : cases) {
    const std::string sentence = c.sentence;
    CAPTURE(sentence);
    folder.write("x.model", c.bytes);
    const std::string error = error_of(folder.path("x.model"));
    CAPTURE(error);
    CHECK(error.find(sentence) != std::string::npos);
  }
}

TEST_CASE("the error for an invalid tokenizer.json with Unigram names the place") {
  const Folder folder;
  std::ifstream file(test_data_path("tokenizers/unigram_steps_json/tokenizer.json"));
  const json original = json::parse(file);
  const struct {
    const char *pointer, *value, *sentence;
  } cases[] = {
      {"/normalizer", "null", "no error"},
      {"/pre_tokenizer", "null", "no error"},
      {"/normalizer", R"({"type":"BertNormalizer"})", "normalizer (\"BertNormalizer\") is not supported"},
      {"/normalizer/normalizers/0/pattern", R"({"Regex":"a+"})", "normalizers[0].pattern (\"a+\") is a regular expr"},
      {"/normalizer/normalizers/0/content", "3", "normalizers[0].content must be a string"},
      {"/normalizer", R"({"type":"Precompiled","precompiled_charsmap":"@@"})", "is not base64 at character 0"},
      {"/normalizer", R"({"type":"Precompiled","precompiled_charsmap":"AAAA"})", "can't be used: the tokenizer's char"},
      {"/normalizer", R"({"type":"Precompiled","precompiled_charsmap":null})", "no error"},
      {"/normalizer", R"({"type":"Prepend","prepend":""})", "normalizer.prepend is empty"},
      {"/normalizer", R"({"type":"Replace","pattern":{"String":""},"content":"a"})", "normalizer.pattern is empty"},
      {"/pre_tokenizer/replacement", R"("_")", "pre_tokenizer.replacement must be U+2581"},
      {"/pre_tokenizer/prepend_scheme", R"("last")", "must be always, first or never"},
      {"/pre_tokenizer/add_prefix_space", "false", "contradicts add_prefix_space"},
      {"/pre_tokenizer", R"({"type":"UnicodeScripts"})", "pre_tokenizer (\"UnicodeScripts\") is not supported"},
      {"/model/unk_id", "null", "no error"},
      {"/model/unk_id", "5000", "model.unk_id is 5000, the vocabulary has 412 tokens"},
      {"/model/vocab", "{}", "model.vocab must be an array"},
      {"/model/vocab", "[]", "model.vocab has 0 tokens"},
      {"/model/vocab/3", R"(["a"])", "model.vocab[3] must be a token and its score"},
      {"/model/vocab/3/1", "1e300", "model.vocab[3] has a score beyond all bounds"},
      {"/model/vocab/3/1", "1e-310", "no error"},
      {"/added_tokens/0/id", "9", "another id than model.vocab does"},
  };
  for (const auto& c : cases) {
    json document = original;
    document[json::json_pointer(c.pointer)] = json::parse(c.value);
    folder.write("tokenizer.json", document.dump());
    const std::string sentence = c.sentence;
    CAPTURE(sentence);
    const std::string error = error_of(folder.path());
    CAPTURE(error);
    CHECK(error.find(sentence) != std::string::npos);
    if (error == "no error") {
      const auto loaded = load_tokenizer(folder.path());
      CHECK(TokenizerFactory::create(loaded.view()).ok());
    }
  }
}

}  // namespace linformer_test::unigram_files_test
