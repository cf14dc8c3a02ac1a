// Changes an environment variable of the test program.
#pragma once

#include <stdlib.h>

namespace linformer_test {

// Sets the variable to `value`, or removes the variable if `value` is nullptr. On Windows an empty `value` removes it,
// too.
inline void set_environment(const char* name, const char* value) {
#ifdef _WIN32
  _putenv_s(name, value == nullptr ? "" : value);
#else
  if (value == nullptr) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
#endif
}

}  // namespace linformer_test
