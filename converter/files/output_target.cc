#include "converter/files/output_target.h"

#include "converter/files/write_error.h"

namespace linformer::files {

bool is_standard_output(const std::string& path) {
  constexpr int standard_output = 1;
  try {
    const OutputTarget target = output_target(path);
    return target.kind == OutputTarget::Kind::descriptor && target.descriptor == standard_output;
  } catch (const WriteError&) {
    return false;
  }
}

}  // namespace linformer::files
