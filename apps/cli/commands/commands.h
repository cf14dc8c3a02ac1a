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

// Does the work once the command line is parsed; returns the exit code. May throw CommandError and OutputClosed.
using Run = std::function<int()>;

// Adds a subcommand to `app`; when it is chosen, `run` is set.
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

// Adds all of them, and the help of each and of the program. If `only` is the name of one, that one alone is added.
void add_commands(CLI::App* app, Run* run, std::string_view only = {});

// The whole program: arguments without the program's name. Prints errors on standard error; throws nothing.
int run_program(int argument_count, char** arguments);

}  // namespace linformer::cli
