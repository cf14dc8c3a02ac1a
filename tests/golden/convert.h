// Runs the program linformer-convert on POSIX systems and on Windows.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#ifndef _WIN32
#include <sys/wait.h>
#endif

namespace linformer_test {

// Returns the path in quotation marks, as an argument of run_converter().
inline std::string in_quotes(const std::string& path) {
#ifdef _WIN32
  return '"' + path + '"';
#else
  return '\'' + path + '\'';
#endif
}

// Runs the converter with these arguments, and returns its exit code. Standard error goes to the file `errors`, and
// standard output is discarded.
inline int run_converter(const std::string& arguments, const std::string& errors) {
  std::string program = LINFORMER_CONVERT;  // It begins with a space if there is no emulator.
#ifdef _WIN32
  program.erase(0, program.find_first_not_of(' '));
  std::replace(program.begin(), program.end(), '/', '\\');  // cmd.exe reads a slash as an option.
  // The command is in additional quotation marks, because the shell removes the first and the last one.
  return std::system(('"' + in_quotes(program) + ' ' + arguments + " 2> " + in_quotes(errors) + " > NUL\"").c_str());
#else
  const int status = std::system((program + ' ' + arguments + " 2> " + in_quotes(errors) + " > /dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
#endif
}

}  // namespace linformer_test
