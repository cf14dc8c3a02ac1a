#include "files/terminal_output.h"

#include "files/output_target.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::files {

bool is_terminal(const std::string& path) {
  return is_standard_output(path) && system::is_terminal(system::standard_output);
}

}  // namespace linformer::files
