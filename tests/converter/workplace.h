// Runs linformer-convert as a program in a temporary folder, and writes small files for it.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/conversion.h"
#include "converter/tiny_fairseq.h"
#include "support/temporary_folder.h"
#include "support/files.h"

namespace linformer_test {

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

struct Run {
  int status;
  std::string out, err;
};

class Workplace {
 public:
  std::string path(const std::string& name) const { return folder_.path(name); }
  Run run(const std::string& arguments) const { return run_command(LINFORMER_CONVERT, arguments); }
  // Does the same as run(), with at most `kilobytes` KiB of address space.
  Run run_limited(int kilobytes, const std::string& arguments) const {
    return run_command("ulimit -v " + std::to_string(kilobytes) + "; " + LINFORMER_CONVERT, arguments);
  }
  // Runs the converter with `command` before its name. `command` ends with a space, such as "timeout 20 ".
  Run run_with_prefix(const std::string& command, const std::string& arguments) const {
    return run_command(command + LINFORMER_CONVERT, arguments);
  }
  int64_t entry_count() const { return folder_.entry_count(); }

 private:
  Run run_command(const std::string& program, const std::string& arguments) const {
    const std::string command =
        program + " " + arguments + " >" + streams_.path("out") + " 2>" + streams_.path("err") + " </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(streams_.path("out")),
            read_file(streams_.path("err"))};
  }

  TemporaryFolder folder_, streams_;
};

inline std::string checkpoint_with_head(int64_t classes) {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_head(tensors, "sentence_classification_head", 8, 8, classes);
  return torch_zip(tensors, tiny.settings());
}

// Writes a byte-level BPE tokenizer whose ids fit a RoBERTa vocabulary: special tokens, "a", "b", "ab" and `more` other
// tokens.
inline void write_tokenizer(const Workplace& place, const std::string& folder, int more) {
  std::filesystem::create_directories(place.path(folder));
  nlohmann::json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"a", 4}, {"b", 5}, {"ab", 6}};
  for (int i = 0; i < more; ++i) vocabulary[std::string(static_cast<size_t>(i) + 2, 'b')] = 7 + i;
  write_file(place.path(folder + "/vocab.json"), vocabulary.dump());
  write_file(place.path(folder + "/merges.txt"), "#version: 0.2\na b\n");
}

inline std::vector<std::string> labels_of(const std::string& path) {
  auto model = linformer::Model::load(path.c_str());
  REQUIRE(model.ok());
  return model.value()->description().heads[0].labels;
}

using Labels = std::vector<std::string>;

}  // namespace linformer_test
