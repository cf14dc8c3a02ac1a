// Counts what this program allocates, through malloc or operator new.
#pragma once

#include <cstdint>

namespace linformer_test {

// The highest number of bytes alive at once, beyond those that were when this was made. For one thread.
class AllocationPeak {
 public:
  AllocationPeak();
  uint64_t bytes() const;

 private:
  int64_t before_;
};

}  // namespace linformer_test
