// The forms of a program's help. None of them holds anything that `Command` doesn't say.
#pragma once

#include <string>
#include <vector>

#include "help/command_table.h"

namespace linformer::help {

// Arguments, the options that are used most and two examples, on one screen (24 lines of 100 columns); of a program
// with commands, these.
std::string short_help(const Command& command);
// Everything.
std::string full_help(const Command& command);
// In troff, for `man`. `version`: of the program, such as "linformer 0.1.0".
std::string man_page(const Command& command, const std::string& version);
// Scripts for the shells, for a program with all its commands.
std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

// The parts that several forms share.

// Lines of at most `columns`, broken between words.
std::vector<std::string> wrapped(const std::string& text, size_t columns);
// The name without what is before the last space: "classify" of "linformer classify".
std::string last_word(const std::string& name);
// The name with hyphens, as that of a man page or of a shell's function: "linformer-classify".
std::string hyphenated(std::string name);
// The text up to its first semicolon outside parentheses; behind it stand defaults and details.
std::string first_part(const std::string& text);
// The same, short enough for a line in a shell's list.
std::string summary(const std::string& text);
// The groups of the options, in the order of their first option.
std::vector<std::string> groups_of(const Command& command);
// What may stand for a value or an argument: a path, or something that no shell can guess.
bool is_path(const std::string& value);
// "MODEL [TEXT...]"
std::string arguments_of(const Command& command);

}  // namespace linformer::help
