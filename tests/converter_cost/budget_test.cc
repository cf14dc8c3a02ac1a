// Tests the budget, which limits the converter's memory and work to multiples of the input's size: the size that is
// admitted, the costs that are charged, and the error if the costs exceed the limit.
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

TEST_CASE("memory, steps and tensors may reach their multiple of the admitted size, and not exceed it by 1") {
  Budget budget;
  budget.charge_memory(Budget::free_memory);
  budget.charge_steps(Budget::free_steps);
  budget.charge_tensor(Budget::free_tensors);
  CHECK(contains(error_of([&] { budget.charge_memory(1); }), "bytes of memory"));
  CHECK(contains(error_of([&] { budget.charge_steps(1); }), "steps of work"));
  CHECK(contains(error_of([&] { budget.charge_tensor(1); }), "more than 64 times"));
  budget.raise_limits(10);
  budget.raise_tensor_limit(3);
  budget.charge_memory(10 * Budget::memory_per_byte);
  budget.charge_steps(10 * Budget::steps_per_byte);
  budget.charge_tensor(3 * Budget::tensors_per_byte);
  CHECK(!error_of([&] { budget.charge_memory(1); }).empty());
  CHECK(!error_of([&] { budget.charge_steps(1); }).empty());
  CHECK(!error_of([&] { budget.charge_tensor(1); }).empty());
  CHECK(budget.structure_bytes() == 10);
  CHECK(budget.charged_memory() == Budget::free_memory + 10 * Budget::memory_per_byte);
  CHECK(budget.charged_steps() == Budget::free_steps + 10 * Budget::steps_per_byte);
}

TEST_CASE("reads are limited to a multiple of the bytes of tensors") {
  Budget budget;
  budget.raise_tensor_limit(100);
  budget.charge_tensor(100);
  budget.charge_read(Budget::free_reads + 100 * Budget::reads_per_tensor);
  CHECK(contains(error_of([&] { budget.charge_read(1); }), "read more than 16 times"));
}

TEST_CASE("a charge that overflows is an error and doesn't count as a small one") {
  Budget budget;
  budget.raise_limits(1);
  for (int i = 0; i < 2; ++i) {
    CHECK(!error_of([&] { budget.charge_memory(UINT64_MAX); }).empty());
    CHECK(!error_of([&] { budget.charge_steps(UINT64_MAX - 7); }).empty());
  }
  CHECK(budget.charged_memory() == 0);
}

}  // namespace linformer_test::budget_test
