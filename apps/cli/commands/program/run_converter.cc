#include "commands/program/run_converter.h"

#include "system/process.h"

namespace linformer::cli {

std::string exec_converter(char** arguments) {
  char name[] = "linformer-convert";
  arguments[0] = name;
  // A converter in the folder of this program is preferred, because it has the same version.
  return "linformer-convert can't be started (" + system::become_program(arguments) +
         "): install it beside linformer or on the PATH; builds with LINFORMER_BUILD_CONVERTER make it";
}

}  // namespace linformer::cli
