#include "answers/notes.h"

#include <cstdio>

#include "answers/progress.h"

namespace linformer::cli {
namespace {

Verbosity chosen_verbosity = Verbosity::normal;

}  // namespace

void set_verbosity(Verbosity chosen) { chosen_verbosity = chosen; }

Verbosity verbosity() { return chosen_verbosity; }

void note(const std::string& sentence, Progress* progress) {
  if (chosen_verbosity == Verbosity::quiet) return;
  if (progress != nullptr) progress->clear();
  std::fputs(("linformer: " + sentence + "\n").c_str(), stderr);
}

}  // namespace linformer::cli
