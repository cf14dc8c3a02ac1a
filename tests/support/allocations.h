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

// Returns false under a sanitizer, where the allocator can't be replaced. The functions below then count and refuse
// nothing.
bool counting_works();

struct Allocations {
  int64_t calls = 0;  // of malloc and similar functions, operator new and mmap, in any thread
  int64_t bytes = 0;  // as they were requested
};

// Begins to count, from zero.
void start_counting();
Allocations stop_counting();

// Limits the memory that is alive at once to `bytes` more than now. Beyond that, malloc and similar functions return
// that there is no memory.
void refuse_beyond(int64_t bytes);
void stop_refusing();

// Refuses the request `number`, counted from 1 from this call on. If `and_later` is true, also refuses all requests
// behind it.
void refuse_request(int64_t number, bool and_later);
// Ends refuse_request(), and returns how many requests there were.
int64_t stop_refusing_requests();

// Returns the number of blocks that malloc and similar functions allocated and that were not freed.
int64_t live_blocks();

}  // namespace linformer_test
