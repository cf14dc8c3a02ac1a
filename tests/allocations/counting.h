// Counts what this program asks of the allocator, or refuses it: the malloc family is interposed (counting.cc).
#pragma once

#include <cstdint>

namespace linformer_test {

// False where the allocator can't be replaced: under a sanitizer, or with a C library other than glibc.
bool counting_works();

struct Allocations {
  int64_t calls = 0;  // malloc, calloc, realloc, memalign and their kin, operator new through them, mmap; any thread
  int64_t bytes = 0;
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
