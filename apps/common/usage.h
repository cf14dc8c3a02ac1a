// What is wrong with a command line, in one sentence with the next step.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "linformer/edit_distance.h"

namespace linformer {

// The option of `app` that `given` ("--inptu") may mean: "--input"; empty: none is like it.
inline std::string option_like(const CLI::App& app, const std::string& given) {
  using convert::longest_name, convert::most_changes;
  if (given.size() < 5 || given.size() > longest_name) return "";
  std::string best;
  size_t least = most_changes + 1;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& long_name : option->get_lnames()) {
      const std::string name = "--" + long_name;
      const bool part = given.starts_with(name + "-") || name.starts_with(given);
      if (name.size() > longest_name) continue;
      const size_t changes = part ? 1 : convert::changes_between(given, name);
      if (changes >= least || option->get_group().empty()) continue;
      least = changes;
      best = name;
    }
  }
  return best;
}

// `command`: the chosen one, or the program. `arguments`: as the program got them.
inline std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error,
                                  const std::vector<std::string>& arguments) {
  const CLI::Option* const input = command.get_option_no_throw("--input");
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && input != nullptr && input->count() > 0) {
    return std::string(error.what()) + "; it stands before -i, which takes all that follows it";
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  const std::vector<std::string> extras = command.remaining(true);
  const auto first = std::find_if(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return std::find(extras.begin(), extras.end(), argument) != extras.end();
  });
  if (first == arguments.end()) return error.what();
  if (first->starts_with("-")) {
    const std::string name = first->substr(0, first->find('='));
    const std::string like = option_like(command, name);
    return "there is no option " + name + (like.empty() ? "" : " (did you mean " + like + "?)");
  }
  const auto has = [&](const char* name) { return command.get_option_no_throw(name) != nullptr; };
  return "'" + *first + "' was not expected" + (has("--output") ? ": give the output with --output" : "");
}

}  // namespace linformer
