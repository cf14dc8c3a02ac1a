// Reads a golden case of any family: its settings for the option --config, and the inputs of each run for a session.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/session.h"
#include "support/npz.h"

namespace linformer_test {

using Arrays = std::map<std::string, NpyArray>;

struct FamilyCase {
  std::filesystem::path folder;
  std::string family, name;
  Arrays arrays;
  // The JSON text of --config: the arguments with which the model's class was constructed.
  std::string config;
  std::vector<std::string> runs;
};

FamilyCase read_case(const std::filesystem::path& folder);

// The inputs of one run. `inputs` points into the other members.
struct FamilyInputs {
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::vector<float>> vectors, encoder_states;
  std::vector<std::vector<uint8_t>> masks, query_masks, types;
  std::vector<linformer::Input> inputs;
  int64_t shown = 0;  // Rows of each text in the expected output; 0 stands for all. The original may have padded texts.
};

// Reads the inputs of a run. `tokens` is the name of the array of ids after "RUN."; arrays of vectors, images and
// contexts are found by themselves. A text keeps at most `max_tokens` tokens, because the original implementations drop
// the rest if the model puts a token before each text.
FamilyInputs read_inputs(const FamilyCase& c, const std::string& run, const std::string& tokens, int64_t max_tokens);
// Returns the largest number of tokens of a text, without a token that the encoder itself puts before it.
int64_t longest_text(const linformer::EncoderDescription& encoder);

}  // namespace linformer_test
