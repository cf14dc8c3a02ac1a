// What one input costs in time, memory and output, against bounds that are multiples of its bytes.
#pragma once

#include <cstdint>
#include <functional>

namespace linformer_fuzz {

// At most `each` for each byte of the input, and `free` beside: what the smallest input may cost.
struct Bound {
  double each = 0, free = 0;
};

struct Bounds {
  const char* what;   // the work's name, for people; static text
  Bound nanoseconds;  // of processor time, in all threads
  Bound memory;       // bytes on the heap at once, beyond those that were there before
  Bound output;       // bytes
};

// To be called once, before the first input: memory is counted from then on, and the worst ratios are printed on
// standard error when the process exits.
void start_accounting();

// Calls `work`, which returns the bytes of its output, and compares what it took with `bounds` for an input of so many
// bytes. Ends the process, with one line that says the ratio, where it is more. Work that seems slow is done up to two
// times more, since other processes disturb the clock: the fastest counts.
void within(const Bounds& bounds, uint64_t input_bytes, const std::function<uint64_t()>& work);

// Bytes that the current work holds outside of the heap.
void add_memory(uint64_t bytes);

// Calls of malloc and of its kin so far.
uint64_t allocations();

// Ends the process with this line: an answer that no input may get.
[[noreturn]] void violated(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace linformer_fuzz
