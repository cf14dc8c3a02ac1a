// Loops whose speed is limited only by the arithmetic units or by the memory of the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/types.h"

namespace linformer::bench {

// A loop of multiply-adds of one type, whose operands stay in registers.
struct ArithmeticLoop {
  const char* instruction = nullptr;    // Null if the machine has no instruction for the type.
  double operations = 0;                // The number of operations of a call.
  float (*run)(float start) = nullptr;  // The result depends on all operations, so the compiler can't remove any.
};
// Returns the fastest loop that this machine can run.
ArithmeticLoop arithmetic_loop(ElementType type);

// Reads `words` words of 64 bits once. `words` is a multiple of 16. The result depends on all words, so the compiler
// can't remove a read.
uint64_t read_words(const uint64_t* data, size_t words);

}  // namespace linformer::bench
