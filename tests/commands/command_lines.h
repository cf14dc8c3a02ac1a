// Every command of the program, with every option that makes it do something else, for one model.
#pragma once

#include <string>
#include <vector>

#include "cli/sentiment_model.h"
#include "linformer/model.h"

namespace linformer_test {

// What standard output holds where the command has --json.
enum class Answers { text, json_object, json_lines };

struct CommandLine {
  std::vector<std::string> arguments;
  std::string input;  // standard input
  Answers answers = Answers::text;
  std::string array;             // the npy file that it writes
  bool profile_json = false;     // the last line of standard error is JSON
  bool error_is_answer = false;  // an error is part of the JSON, and standard error is empty
};

// `other`: a second model, for `compare`. The files that the commands read are written into `folder`, and what they
// write goes there.
std::vector<CommandLine> command_lines(const linformer::Model& model, const std::string& path, const std::string& other,
                                       const Folder& folder);

}  // namespace linformer_test
