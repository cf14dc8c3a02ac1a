// Prints notes on standard error. A note tells the user something that is not an error.
#pragma once

#include <cstdint>
#include <string>

namespace linformer::cli {

class Progress;

enum class Verbosity : uint8_t { quiet, normal, verbose };

// Sets and returns the process's level of output, which --quiet and --verbose choose. Errors are printed at every
// level.
void set_verbosity(Verbosity chosen);
Verbosity verbosity();

// Writes "linformer: SENTENCE" and a line end to standard error; with Verbosity::quiet it writes nothing. If `progress`
// is not null, the line that it shows is removed first.
void note(const std::string& sentence, Progress* progress = nullptr);

}  // namespace linformer::cli
