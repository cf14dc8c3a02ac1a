// Writes the help of a program in several formats. All text comes from `Command`.
#pragma once

#include <string>
#include <vector>

#include "help/command_table.h"

namespace linformer::help {

// Returns help for one screen (24 lines of 100 columns): the arguments, the most used options and two examples. For a
// program with commands, the help lists the commands too.
std::string short_help(const Command& command);
// Returns help with all options, notes and examples.
std::string full_help(const Command& command);
// Returns a man page in troff. `version` is the program's name and version, such as "linformer 0.1.0".
std::string man_page(const Command& command, const std::string& version);
// These functions return completion scripts for a program and all its commands.
std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

// The functions below are shared by several formats.

// Returns `text` broken between words into lines of at most `columns` characters.
std::vector<std::string> wrapped(const std::string& text, size_t columns);
// Returns the part of a name after its last space, such as "classify" for "linformer classify".
std::string last_word(const std::string& name);
// Returns the name with hyphens in place of spaces, for man pages and shell functions, such as "linformer-classify".
std::string hyphenated(std::string name);
// Returns the part of `text` before its first semicolon outside parentheses. Defaults and details follow the semicolon.
std::string text_before_semicolon(const std::string& text);
// Returns text_before_semicolon(text), cut to 80 columns for a line in a shell's list.
std::string summary(const std::string& text);
// Returns the groups of the options, in the order in which they first occur. "Help" is the last.
std::vector<std::string> groups_of(const Command& command);
// Returns whether the value or argument named `value`, such as "FILE", is a path that a shell can complete.
bool is_path_placeholder(const std::string& value);
// Returns the positional arguments for a usage line, such as "MODEL [TEXT...]".
std::string positional_usage(const Command& command);

}  // namespace linformer::help
