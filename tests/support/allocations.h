// Counts what this program asks of the allocator, and refuses it: the malloc family is interposed (allocations.cc).
#pragma once

#include <cstdint>

namespace linformer_test {

// The highest number of bytes alive at once, beyond those that were when this was made: what malloc and operator new
// gave, under a sanitizer too. For one at a time.
class AllocationPeak {
 public:
  AllocationPeak();
  uint64_t bytes() const;

 private:
  int64_t before_;
};

// False where the allocator can't be replaced, under a sanitizer; then what follows counts and refuses nothing.
bool counting_works();

struct Allocations {
  int64_t calls = 0;  // malloc, calloc, realloc, memalign and their kin, operator new through them, mmap; any thread
  int64_t bytes = 0;  // as they were asked for
};

// From here on everything is counted, from zero.
void start_counting();
Allocations stop_counting();

// From here on no more than `bytes` more can be held at once: malloc and its kin answer that there is no memory.
void refuse_beyond(int64_t bytes);
void stop_refusing();

// From here on request `number` (from 1) is refused, and where `and_later` every one behind it.
void refuse_request(int64_t number, bool and_later);
// Ends that; how many requests there were.
int64_t stop_refusing_requests();

// Blocks that malloc and its kin gave and that were not freed.
int64_t live_blocks();

}  // namespace linformer_test
