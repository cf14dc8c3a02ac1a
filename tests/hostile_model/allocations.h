// Counts what this program allocates through operator new.
#pragma once

#include <cstdint>

namespace linformer_test {

// The highest number of bytes alive at once, beyond those that were when this was made. For one thread.
class AllocationPeak {
 public:
  AllocationPeak();
  uint64_t bytes() const;

 private:
  uint64_t before_;
};

}  // namespace linformer_test
