// A golden case of any family: its settings as --config takes them, and each run's inputs as a session takes them.
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
  // What a person who knows the model writes into a JSON file: what its class was made with.
  std::string config;
  std::vector<std::string> runs;
};

FamilyCase read_case(const std::filesystem::path& folder);

// One run's texts. `inputs` point into the other members.
struct FamilyInputs {
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::vector<float>> vectors, encoder_states;
  std::vector<std::vector<uint8_t>> masks, query_masks, types;
  std::vector<linformer::Input> inputs;
  int64_t shown = 0;  // rows of each text that the original gives back, where it padded; 0 = all
};

// `tokens`: the array's name after "RUN."; for vectors, images and contexts what is there is found. `max_tokens`: that
// a text may have; the original implementations drop what is beyond, where a token is put before a text.
FamilyInputs read_inputs(const FamilyCase& c, const std::string& run, const std::string& tokens, int64_t max_tokens);
// The same of an encoder.
int64_t longest_text(const linformer::EncoderDescription& encoder);

}  // namespace linformer_test
