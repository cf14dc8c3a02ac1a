#include "commands/commands.h"
#include "system/process.h"

int main(int argument_count, char** arguments) {
  linformer::system::prepare_process(&argument_count, &arguments);
  return linformer::cli::run_program(argument_count, arguments);
}
