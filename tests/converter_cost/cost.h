// Measures what hostile input costs: the peak memory of one call, compared with the number of the input's bytes.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "converter/checkpoint_writer.h"
#include "converter/pickle_writer.h"
#include "converter/readers/budget.h"
#include "converter/readers/error.h"
#include "converter/readers/torch/pickle.h"
#include "converter/writer/write_error.h"
#include "support/allocations.h"

namespace linformer_test {

using linformer::convert::Budget;

// Runs `call`, and returns the message of the error with which it ends, or "". Fails if the call's memory exceeds the
// budget's multiple of `bytes` by more than `constant` bytes.
inline std::string error_within_budget(const char* what, uint64_t bytes, const std::function<void()>& call,
                                       uint64_t constant = Budget::free_memory) {
  const AllocationPeak peak;
  std::string sentence;
  try {
    call();
  } catch (const linformer::convert::Error& error) {
    sentence = error.what();
  } catch (const linformer::writer::WriteError& error) {
    sentence = error.what();
  }
  const uint64_t taken = peak.bytes();
  std::printf("%-44s %10llu bytes: %11llu of memory, %6.1f for each\n", what, static_cast<unsigned long long>(bytes),
              static_cast<unsigned long long>(taken), static_cast<double>(taken) / static_cast<double>(bytes));
  CAPTURE(what);
  CAPTURE(sentence);
  CHECK(taken <= Budget::memory_per_byte * bytes + constant);
  return sentence;
}

inline std::string repeated(const std::string& unit, size_t times) {
  std::string all;
  all.reserve(unit.size() * times);
  for (size_t i = 0; i < times; ++i) all += unit;
  return all;
}

// A pickle and the value that it makes. The pickle is kept because the value refers to its bytes.
struct Pickled {
  explicit Pickled(std::string bytes) : pickle(std::move(bytes)) {
    value = linformer::convert::PickleMachine(store, as_bytes(pickle), {}).run();
  }
  Pickled(const Pickled&) = delete;
  Pickled& operator=(const Pickled&) = delete;

  const std::string pickle;
  linformer::convert::ValueStore store;
  linformer::convert::Value value;
};

}  // namespace linformer_test
