// Runs programs whose system calls fail, by preloading io_faults.c.
#pragma once

#include <cstdlib>
#include <map>
#include <string>

namespace linformer_test {

// Sets the environment variables that io_faults.c reads, and preloads it, as long as this object exists. Programs that
// are started meanwhile inherit both.
class Faults {
 public:
  explicit Faults(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
    const char* options = std::getenv("ASAN_OPTIONS");
    if (options != nullptr) asan_options_ = options;
    ::setenv("ASAN_OPTIONS", ("verify_asan_link_order=0:" + asan_options_).c_str(), 1);
    ::setenv("LD_PRELOAD", LINFORMER_IO_FAULTS, 1);
  }
  ~Faults() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
    ::unsetenv("LD_PRELOAD");
    ::setenv("ASAN_OPTIONS", asan_options_.c_str(), 1);
  }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

 private:
  std::map<std::string, std::string> variables_;
  std::string asan_options_;  // the value to restore
};

}  // namespace linformer_test
