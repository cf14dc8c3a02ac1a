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
  // The number of rows of each text that the expected output has; 0 stands for all. It is less than the length of the
  // inputs if the original implementation pads texts and then drops the rows of the padding.
  int64_t shown = 0;
};

// Reads the inputs of a run. "RUN.TOKENS" is the name of the array of token ids, where TOKENS is the argument `tokens`.
// The arrays of vectors, images and contexts have fixed names. Tokens after the first `max_tokens` are dropped, as the
// original implementations drop them if the model puts a token of its own before each text.
FamilyInputs read_inputs(const FamilyCase& c, const std::string& run, const std::string& tokens, int64_t max_tokens);
// Returns the largest number of tokens of a text, without a token that the encoder itself puts before it.
int64_t max_text_tokens(const linformer::EncoderDescription& encoder);

}  // namespace linformer_test
