#include "commands/program/run_converter.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace linformer::cli {

std::string run_converter(char** arguments) {
  char name[] = "linformer-convert";
  arguments[0] = name;
  // The one beside this program is of the same version.
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::execv((here.parent_path() / name).c_str(), arguments);
  ::execvp(name, arguments);
  const int reason = errno;
  return std::string("linformer-convert can't be started (") + std::strerror(reason) +
         "): install it beside linformer or on the PATH; builds with LINFORMER_BUILD_CONVERTER make it";
}

}  // namespace linformer::cli
