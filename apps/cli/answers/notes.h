// Notes on standard error: what is worth knowing although nothing is wrong.
#pragma once

#include <cstdint>
#include <string>

namespace linformer::cli {

class Progress;

enum class Verbosity : uint8_t { quiet, normal, verbose };

// What --quiet and --verbose chose for this process. Errors are reported in any case.
void set_verbosity(Verbosity chosen);
Verbosity verbosity();

// Writes "linformer: SENTENCE" and a line end to standard error, unless notes are not wanted. The line of `progress`,
// which may be null, is removed first.
void note(const std::string& sentence, Progress* progress = nullptr);

}  // namespace linformer::cli
