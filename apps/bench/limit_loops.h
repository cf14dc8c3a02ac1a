// Loops whose speed is a limit of the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/types.h"

namespace linformer::bench {

// Multiply-adds of one type, from registers alone.
struct ArithmeticLoop {
  const char* instruction = nullptr;    // nullptr: there is none for the type
  double operations = 0;                // of a call
  float (*run)(float start) = nullptr;  // what it returns depends on all operations
};
// The fastest this machine has.
ArithmeticLoop arithmetic_loop(ElementType type);

// Reads `words` 64-bit words once; what it returns depends on all of them.
uint64_t read_words(const uint64_t* data, size_t words);

}  // namespace linformer::bench
