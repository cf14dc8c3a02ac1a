#include <algorithm>
#include <filesystem>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/readers/found_file.h"
#include "converter/tokenizers/byte_bpe_files.h"
#include "converter/tokenizers/tokenizer_files.h"
#include "converter/tokenizers/tokenizer_json.h"
#include "converter/tokenizers/unigram_files.h"
#include "converter/tokenizers/wordpiece_files.h"

namespace linformer::convert {
namespace {

namespace fs = std::filesystem;

struct Pair {
  const char* vocabulary;
  const char* merges;
};
constexpr Pair bpe_pairs[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Returns the path of the SentencePiece model in a folder, or an empty path if there is none. Throws Error if there are
// several.
fs::path find_sentencepiece_model(const fs::path& folder) {
  for (const char* name : {"spiece.model", "sentencepiece.bpe.model"}) {
    if (finds_file(folder / name)) return folder / name;
  }
  std::vector<fs::path> models;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".model") continue;
    const fs::path name = entry.path().filename();
    // A folder that is named like a tokenizer's file is an error, which finds_file() throws; other folders are ignored.
    const bool meant = name == "spm.model" || name == "tokenizer.model" || !entry.is_directory(error);
    if (meant && finds_file(entry.path())) models.push_back(entry.path());
  }
  if (models.empty()) return {};
  std::sort(models.begin(), models.end());
  if (models.size() > 1) {
    fail(folder.string(), " has ", models.size(), " .model files, ", quote(models[0].filename().string()), " and ",
         quote(models[1].filename().string()), " among them: give the path of one");
  }
  return models[0];
}

// Adds a note for each tokenizer file in the folder that is not among the `used` ones.
void note_unused(const fs::path& folder, const std::vector<std::string>& used, OwnedTokenizer* tokenizer) {
  for (const char* name :
       {"tokenizer.json", "vocab.json", "encoder.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model"}) {
    bool listed = false;
    for (const std::string& other : used) listed = listed || other == name;
    if (!listed && is_file(folder / name)) {
      tokenizer->notes.push_back((folder / name).string() + " is not used: " + used.front() + " is read instead");
    }
  }
}

// Returns the tokenizer with the paths of the files that it was read from.
OwnedTokenizer read_from(const std::vector<std::string>& files, OwnedTokenizer tokenizer) {
  tokenizer.files.insert(tokenizer.files.end(), files.begin(), files.end());
  return tokenizer;
}

// Reads the tokenizer's files, but not a dictionary that renumbers the tokens.
OwnedTokenizer load_files(const fs::path& path, const TokenizerFileOptions& options) {
  std::error_code error;
  const bool folder_given = fs::is_directory(path, error);
  const fs::path folder = folder_given ? path : path.parent_path();
  const std::string name = folder_given ? "" : path.filename().string();
  if (!folder_given && !finds_file(path)) fail(path.string(), " is neither a folder nor a file");

  if (folder_given && finds_file(folder / "tokenizer.json")) {
    const std::string file = (folder / "tokenizer.json").string();
    OwnedTokenizer tokenizer = read_from({file}, load_tokenizer_json(file));
    note_unused(folder, {"tokenizer.json"}, &tokenizer);
    return tokenizer;
  }
  for (const Pair& pair : bpe_pairs) {
    const bool named = name == pair.vocabulary || name == pair.merges;
    if (!named && !folder_given) continue;
    const bool both = finds_file(folder / pair.vocabulary) && finds_file(folder / pair.merges);
    if (named && !both) {
      fail(path.string(), ": byte-level BPE needs ", pair.vocabulary, " and ", pair.merges, " in the same folder");
    }
    if (!both) continue;
    const std::string vocabulary = (folder / pair.vocabulary).string(), merges = (folder / pair.merges).string();
    OwnedTokenizer tokenizer = read_from({vocabulary, merges}, load_byte_bpe(vocabulary, merges));
    if (folder_given) note_unused(folder, {pair.vocabulary, pair.merges}, &tokenizer);
    return tokenizer;
  }
  if (folder_given && finds_file(folder / "vocab.txt")) {
    const std::string file = (folder / "vocab.txt").string();
    return read_from({file}, load_wordpiece(file, options.lowercase));
  }
  if (const fs::path model = folder_given ? find_sentencepiece_model(folder) : fs::path(); !model.empty()) {
    return read_from({model.string()}, load_sentencepiece_model(model.string()));
  }
  const std::string file = path.string();
  if (!folder_given && path.extension() == ".model") return read_from({file}, load_sentencepiece_model(file));
  if (!folder_given && path.extension() == ".json") return read_from({file}, load_tokenizer_json(file));
  if (!folder_given && path.extension() == ".txt" && name != "dict.txt") {
    return read_from({file}, load_wordpiece(file, options.lowercase));
  }
  fail(path.string(), folder_given ? " has no tokenizer files" : " is not a tokenizer file",
       ": give a folder with tokenizer.json, with vocab.json and merges.txt, with encoder.json and vocab.bpe (and "
       "fairseq's dict.txt), with vocab.txt, or with a SentencePiece .model");
}

// Renumbers the tokens if there is a dict.txt of fairseq for them. `path` is the path of the tokenizer.
void apply_dictionary(const std::string& path, const TokenizerFileOptions& options, OwnedTokenizer* tokenizer) {
  std::error_code error;
  const fs::path folder = fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  const std::string dictionary = !options.dictionary.empty()       ? options.dictionary
                                 : finds_file(folder / "dict.txt") ? (folder / "dict.txt").string()
                                                                   : "";
  if (dictionary.empty()) return;
  tokenizer->files.push_back(dictionary);
  const TokenizerDescription& description = tokenizer->description;
  const bool renumbered = description.bos >= 0 && description.eos >= 0;
  if (description.kind == TokenizerKind::byte_bpe && !renumbered) {
    apply_fairseq_dictionary(dictionary, tokenizer);
  } else if (description.kind == TokenizerKind::unigram && description.rules.sentencepiece) {
    apply_fairseq_piece_dictionary(dictionary, tokenizer);
  } else if (!options.dictionary.empty()) {
    fail(dictionary, " renumbers byte-level BPE in GPT-2's numbering or a SentencePiece model; ", path,
         description.kind == TokenizerKind::byte_bpe ? " has the model's numbering already" : " has another tokenizer");
  } else {
    tokenizer->notes.push_back(dictionary + " is not used: the vocabulary has the model's own numbering already");
  }
}

}  // namespace

OwnedTokenizer load_tokenizer(const std::string& path, const TokenizerFileOptions& options) {
  OwnedTokenizer tokenizer = load_files(path, options);
  apply_dictionary(path, options, &tokenizer);
  if (!tokenizer.template_note.empty()) tokenizer.notes.push_back(tokenizer.template_note);
  const TokenizerDescription& description = tokenizer.description;
  const size_t missing = description.kind == TokenizerKind::byte_bpe ? count_missing_bytes(tokenizer) : 0;
  if (missing > 0) {
    tokenizer.notes.push_back(std::to_string(missing) + " of the 256 byte values have no token: text with them " +
                              (description.unk >= 0 ? "becomes the unknown token" : "is left out"));
  }
  return tokenizer;
}

}  // namespace linformer::convert
