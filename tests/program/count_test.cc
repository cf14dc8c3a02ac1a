#include "base/count.h"

#include <doctest/doctest.h>

#include "program/arena.h"
#include "support/formula.h"

namespace linformer_test::count_test {

using linformer::Count;

namespace {

// Returns the value of the count, or -1 if it is invalid.
int64_t number(Count count) {
  uint64_t value = 0;
  return count.get(&value) ? static_cast<int64_t>(value) : -1;
}

TEST_CASE("a count becomes invalid if it exceeds 64 bits") {
  const int64_t large = int64_t{1} << 62;
  CHECK(number(Count(6) * 7 + 8) == 50);
  CHECK(number(Count(-1)) == -1);
  CHECK(number(Count(large) * 2) != -1);
  CHECK(number(Count(large) * 4) == -1);
  CHECK(number(Count::bytes(UINT64_MAX) + 1) == -1);
  CHECK(number(Count(17).rounded_up(16)) == 32);
  CHECK(number(Count(32).rounded_up(16)) == 32);
  CHECK(number(Count::bytes(UINT64_MAX).rounded_up(64)) == -1);
}

TEST_CASE("a count computed from an invalid count is invalid") {
  const Count bad = Count(int64_t{1} << 62) * 4;
  CHECK(number(bad * 0) == -1);
  CHECK(number(bad + 0) == -1);
  CHECK(number(Count(0) * bad) == -1);
  CHECK(number(larger(1, bad)) == -1);
  CHECK(number(larger(bad, 1)) == -1);
  CHECK(number(bad.rounded_up(16)) == -1);
  uint64_t untouched = 5;
  CHECK(!bad.get(&untouched));
  CHECK(untouched == 5);
}

TEST_CASE("an arena with a size that doesn't fit is not laid out") {
  using namespace linformer;
  Arena arena;
  ArenaLayout layout;
  arena[Term::rows] = 1000;
  arena[Term::d_row] = 7;
  arena.use(BufferId::rows);
  REQUIRE(arena.lay_out(&layout));
  CHECK(layout.total == (4 * 7000 + 63) / 64 * 64);
  CHECK(linformer_test::formula_bytes(arena.formula(BufferId::rows).text, {{"rows", 1000}, {"d_row", 7}}) ==
        layout.total);
  arena[Term::d_row] = int64_t{1} << 40;
  CHECK(!arena.lay_out(&layout));  // The size exceeds the address space.
  arena[Term::d_row] = int64_t{1} << 60;
  CHECK(!arena.lay_out(&layout));  // The size exceeds 64 bits.
  arena[Term::d_row] = 7;
  arena[Term::keys] = Count(int64_t{1} << 62) * 8;  // Even a term of an unused buffer must fit.
  CHECK(!arena.lay_out(&layout));
}

}  // namespace

}  // namespace linformer_test::count_test
