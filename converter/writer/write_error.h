#pragma once

#include <stdexcept>

namespace linformer::writer {

// One sentence that names the tensor or path and what to do.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace linformer::writer
