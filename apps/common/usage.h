// Turns CLI11's errors about a command line into one sentence that says what is wrong and what to do.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "linformer/edit_distance.h"

namespace linformer {

// Returns the option of `app` that is most similar to the misspelt option `given`, such as "--input" for "--inptu".
// Returns an empty string if no option is similar.
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

// Returns the sentence for `error`. `command` is the command that was chosen on the command line, or the program if no
// command was chosen. `arguments` are the program's arguments.
inline std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error,
                                  const std::vector<std::string>& arguments) {
  const CLI::Option* const input = command.get_option_no_throw("--input");
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && input != nullptr && input->count() > 0) {
    return std::string(error.what()) + "; give it before -i, because -i takes all arguments that follow it";
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
