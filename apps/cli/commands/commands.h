// The subcommands of `linformer`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

// A function that executes a command after the command line is parsed. It returns the exit code, and may throw
// CommandError and OutputClosed.
using Run = std::function<int()>;

// Each of these functions adds a subcommand to `app`. If the user chooses the subcommand, parsing sets *run.
void add_classify(CLI::App* app, Run* run);
void add_encode(CLI::App* app, Run* run);
void add_embed(CLI::App* app, Run* run);
void add_fill_mask(CLI::App* app, Run* run);
void add_tag(CLI::App* app, Run* run);
void add_answer(CLI::App* app, Run* run);
void add_perplexity(CLI::App* app, Run* run);
void add_tokenize(CLI::App* app, Run* run);
void add_inspect(CLI::App* app, Run* run);
void add_compare(CLI::App* app, Run* run);
void add_spectrum(CLI::App* app, Run* run);
void add_bench(CLI::App* app, Run* run);
void add_rerank(CLI::App* app, Run* run);
void add_search(CLI::App* app, Run* run);

// Adds all subcommands, with the help of each of them and of the program. If `only` is the name of a subcommand, only
// that one is added.
void add_commands(CLI::App* app, Run* run, std::string_view only = {});

// Runs the whole program with the arguments of main() and returns the exit code. Prints errors on standard error and
// throws nothing.
int run_program(int argument_count, char** arguments);

}  // namespace linformer::cli
