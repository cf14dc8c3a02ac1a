// Command lines for one model: every command of the program, with every option that changes what the command does.
#pragma once

#include <string>
#include <vector>

#include "cli/sentiment_model.h"
#include "linformer/model.h"

namespace linformer_test {

// The format that standard output must have.
enum class StdoutFormat { text, json_object, json_lines };

struct CommandLine {
  std::vector<std::string> arguments;
  std::string input;  // standard input
  StdoutFormat answers = StdoutFormat::text;
  std::string array;             // the npy file that the command writes
  bool profile_json = false;     // the last line of standard error is JSON
  bool error_is_answer = false;  // an error is part of the JSON, and standard error is empty
};

// Writes the files that the commands read into `folder`; the commands write there too. `other` is the path of a second
// model, for `compare`.
std::vector<CommandLine> command_lines(const linformer::Model& model, const std::string& path, const std::string& other,
                                       const Folder& folder);

}  // namespace linformer_test
