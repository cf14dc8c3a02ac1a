#include "commands/model_files.h"

#include <algorithm>

#include "cli/process.h"
#include "golden/family_case.h"
#include "reference/random_case.h"
#include "reference/unusual_shape.h"
#include "support/random_model.h"
#include "support/random_tokenizer.h"

namespace linformer_test {
namespace {

namespace fs = std::filesystem;
using namespace linformer;

// Makes two folders with WordPiece vocabularies. The padding token has the id 0 in one and 1 in the other, because both
// occur in models.
std::vector<std::string> tokenizer_folders(const Folder& folder) {
  std::vector<std::string> folders;
  for (const char* start : {"[PAD]\n[CLS]\n", "[CLS]\n[PAD]\n"}) {
    folders.push_back(folder.path("tokenizer" + std::to_string(folders.size())));
    fs::create_directories(folders.back());
    folder.file(fs::path(folders.back()).filename().string() + "/vocab.txt",
                std::string(start) + "[UNK]\n[SEP]\n[MASK]\na\nthe\ngood\nfilm\n##s\n.\n");
  }
  return folders;
}

bool convert(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--quiet", "--force"});
  return run_program(LINFORMER_CONVERT, arguments).code == 0;
}

}  // namespace

std::vector<ModelFile> convert_golden_models(const fs::path& golden, const Folder& folder, int* refused) {
  const std::vector<std::string> tokenizers = tokenizer_folders(folder);
  std::vector<ModelFile> models;
  *refused = 0;
  std::vector<fs::path> checkpoints;
  for (const auto& entry : fs::recursive_directory_iterator(golden)) {
    if (entry.path().filename().string().starts_with("checkpoint")) checkpoints.push_back(entry.path());
  }
  std::sort(checkpoints.begin(), checkpoints.end());
  for (const fs::path& checkpoint : checkpoints) {
    const FamilyCase c = read_case(checkpoint.parent_path());
    ModelFile model;
    model.name = c.family + "/" + c.name + "/" + checkpoint.filename().string();
    model.path = folder.path("golden" + std::to_string(models.size()) + ".lnfr");
    const std::vector<std::string> plain = {checkpoint.string(), "-o", model.path, "--config",
                                            folder.file("config.json", c.config)};
    // Neither tokenizer fits a model that reads no tokens, or one whose vocabulary is too small.
    const bool done = std::any_of(tokenizers.begin(), tokenizers.end(), [&](const std::string& tokenizer) {
      std::vector<std::string> with = plain;
      with.insert(with.end(), {"--tokenizer", tokenizer});
      return convert(with);
    });
    if (done || convert(plain)) {
      models.push_back(model);
    } else {
      ++*refused;
    }
  }
  return models;
}

ModelFile write_random_model_file(uint64_t index, const Folder& folder) {
  const bool unusual = index % 2 == 0;
  const RandomModel shape = unusual ? unusual_shape(index / 2) : random_shape(index / 2);
  constexpr TokenizerKind kinds[] = {TokenizerKind::wordpiece, TokenizerKind::byte_bpe, TokenizerKind::unigram,
                                     TokenizerKind::bpe,       TokenizerKind::byte_bpe, TokenizerKind::unigram,
                                     TokenizerKind::none};
  const TokenizerKind kind = shape.vector_width != 0 ? TokenizerKind::none : kinds[index / 3 % std::size(kinds)];
  const RandomTokenizer tokenizer(kind, index, std::max(1u, shape.vocabulary), shape.token_types, index % 3 == 0);
  writer::ModelBuilder builder = random_builder(shape);
  if (kind != TokenizerKind::none) builder.description.tokenizer = tokenizer.description();
  ModelFile model;
  model.name = std::string(unusual ? "unusual, " : "random, ") +
               (unusual ? name_of(static_cast<Unusual>(index / 2 % unusual_kinds)) : "of any kind") + ", " +
               std::to_string(index);
  model.path = folder.path("random.lnfr");
  builder.write(model.path);
  return model;
}

}  // namespace linformer_test
