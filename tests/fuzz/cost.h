// Measures the time, memory and output of the work on one input, and compares them with bounds that are multiples of
// the input's bytes.
#pragma once

#include <cstdint>
#include <functional>

namespace linformer_fuzz {

// A bound of `each` for each byte of the input, plus the constant `free`.
struct Bound {
  double each = 0, free = 0;
};

struct Bounds {
  const char* what;   // The name of the work in messages. A string literal.
  Bound nanoseconds;  // Processor time of all threads together.
  Bound memory;       // The peak of the heap in bytes, less the heap before the work.
  Bound output;       // In bytes.
};

// Begins to count memory, and prints the largest costs on standard error when the process exits. A target calls it
// once, before the first input.
void start_accounting();

// Calls `work`, which returns the bytes of its output, and compares its cost with `bounds` for an input of
// `input_bytes` bytes. If the work exceeds the bound of time, it is repeated up to twice and the shortest time counts,
// because other processes disturb the clock. If a cost is above its bound, prints the cost, the cost per byte and the
// bound, and ends the process.
void run_within_bounds(const Bounds& bounds, uint64_t input_bytes, const std::function<uint64_t()>& work);

// Adds bytes that the current work holds outside of the heap.
void add_non_heap_memory(uint64_t bytes);

// Returns the number of allocations of the process since start_accounting().
uint64_t allocations();

// Prints this line after "VIOLATED: " and ends the process. A target calls it if a result is wrong.
[[noreturn]] void report_violation(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace linformer_fuzz
