#include "commands/commands.h"

int main(int argument_count, char** arguments) { return linformer::cli::run_program(argument_count, arguments); }
