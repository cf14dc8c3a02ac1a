// What is wrong with a command line, in one sentence with the next step.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace linformer {

// Characters to change, add or leave out; what swaps two neighbours counts as two.
inline size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

// The option of `app` that `given` ("--inptu") may mean: "--input"; empty: none is like it.
inline std::string option_like(const CLI::App& app, const std::string& given) {
  constexpr size_t most_edits = 2, longest = 64;  // what is longer is no option's name
  if (given.size() < 5 || given.size() > longest) return "";
  std::string best;
  size_t least = most_edits + 1;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& long_name : option->get_lnames()) {
      const std::string name = "--" + long_name;
      const bool part = given.starts_with(name + "-") || name.starts_with(given);
      const size_t edits = part ? 1 : edits_between(given, name);
      if (edits >= least || option->get_group().empty()) continue;
      least = edits;
      best = name;
    }
  }
  return best;
}

// `command`: the chosen one, or the program. `arguments`: as the program got them.
inline std::string usage_sentence(const CLI::App& command, const CLI::ParseError& error,
                                  const std::vector<std::string>& arguments) {
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
  return "'" + *first + "' was not expected" +
         (has("--text")     ? ": give texts with --text, files with --input"
          : has("--input")  ? ": give files with --input"
          : has("--output") ? ": give the output with --output"
                            : "");
}

}  // namespace linformer
