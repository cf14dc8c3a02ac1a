// Counts the memory that this program requests, and can refuse requests. allocations.cc replaces malloc and similar
// functions.
#pragma once

#include <cstdint>

namespace linformer_test {

// Measures the highest number of bytes alive at once, beyond those that were alive when the object was made. It counts
// the memory of malloc and operator new, under a sanitizer too. Only one object may exist at a time.
class AllocationPeak {
 public:
  AllocationPeak();
  uint64_t bytes() const;

 private:
  int64_t before_;
};

// Returns false under a sanitizer, where the allocator can't be replaced. The functions below, except live_blocks(),
// then count and refuse nothing.
bool counting_works();

struct Allocations {
  int64_t calls = 0;  // of malloc and similar functions, operator new and mmap, in any thread
  int64_t bytes = 0;  // as they were requested
};

// Begins to count, from zero.
void start_counting();
Allocations stop_counting();

// Limits the memory that is alive at once to `bytes` more than now. Beyond that, malloc and similar functions fail.
void limit_memory(int64_t bytes);
void end_memory_limit();

// Makes one later memory request fail. The first request after this call has the number 1. If `and_later` is true, all
// requests after request `number` fail too.
void fail_request(int64_t number, bool and_later);
// Ends fail_request(), and returns how many memory requests there were since that call.
int64_t stop_failing_requests();

// Returns the number of blocks that malloc and similar functions allocated and that were not freed.
int64_t live_blocks();

}  // namespace linformer_test
