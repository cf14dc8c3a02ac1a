// Tests the budget itself: what is admitted, what is charged, and the error if more is charged than was admitted.
#include "converter/readers/budget.h"

#include <doctest/doctest.h>

#include "converter/conversion.h"
#include "converter_cost/cost.h"

namespace linformer_test::budget_test {

using linformer::convert::Error;

namespace {

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("each account allows its multiple of what was admitted, and not a byte more") {
  Budget budget;
  budget.charge_memory(Budget::free_memory);
  budget.charge_steps(Budget::free_steps);
  budget.charge_tensor(Budget::free_tensors);
  CHECK(contains(error_of([&] { budget.charge_memory(1); }), "bytes of memory"));
  CHECK(contains(error_of([&] { budget.charge_steps(1); }), "steps of work"));
  CHECK(contains(error_of([&] { budget.charge_tensor(1); }), "more than 64 times"));
  budget.admit(10);
  budget.admit_file(3);
  budget.charge_memory(10 * Budget::memory_per_byte);
  budget.charge_steps(10 * Budget::steps_per_byte);
  budget.charge_tensor(3 * Budget::tensors_per_byte);
  CHECK(!error_of([&] { budget.charge_memory(1); }).empty());
  CHECK(!error_of([&] { budget.charge_steps(1); }).empty());
  CHECK(!error_of([&] { budget.charge_tensor(1); }).empty());
  CHECK(budget.admitted() == 10);
  CHECK(budget.memory() == Budget::free_memory + 10 * Budget::memory_per_byte);
  CHECK(budget.steps() == Budget::free_steps + 10 * Budget::steps_per_byte);
}

TEST_CASE("reads are limited to a multiple of the bytes of tensors") {
  Budget budget;
  budget.admit_file(100);
  budget.charge_tensor(100);
  budget.charge_read(Budget::free_reads + 100 * Budget::reads_per_tensor);
  CHECK(contains(error_of([&] { budget.charge_read(1); }), "read more than 16 times"));
}

TEST_CASE("a charge that overflows is an error and doesn't count as a small one") {
  Budget budget;
  budget.admit(1);
  for (int i = 0; i < 2; ++i) {
    CHECK(!error_of([&] { budget.charge_memory(UINT64_MAX); }).empty());
    CHECK(!error_of([&] { budget.charge_steps(UINT64_MAX - 7); }).empty());
  }
  CHECK(budget.memory() == 0);
}

}  // namespace linformer_test::budget_test
