// Tests how many compressed rows take part in attention beside a window, depending on the length of the text.
#include <doctest/doctest.h>

#include <string>

#include "base/description.h"
#include "program/key_groups.h"
#include "session/state.h"
#include "support/random_model.h"

namespace linformer_test::rows_beside_test {
namespace {

using namespace linformer;

// Counts the rows that take part in a text of n tokens. k - exact rows are spread over `span` positions, and row i of
// them begins at position i span / (k - exact).
int64_t counted(const RowsBeside& rows, int64_t n) {
  if (n <= rows.window + 1) return 0;
  int64_t count = rows.exact;
  for (int64_t i = 0; i < rows.k - rows.exact; ++i) count += i * rows.span < n * (rows.k - rows.exact);
  return count;
}

double flop(const Model& model, int64_t n) {
  double sum = 0;
  const auto add = [](void* context, const ProgramLine& line) {
    if (!line.in_first_rows) *static_cast<double*>(context) += line.flop;
  };
  REQUIRE(list_program(model, {}, n, add, &sum).ok());
  return sum;
}

}  // namespace

TEST_CASE("the rows of exact tokens and the rows that begin within the text take part") {
  for (const int64_t k : {1, 2, 7, 16, 33}) {
    for (const int64_t exact : {0, 1, 7}) {
      for (const int64_t span : {1, 2, 13, 16, 100}) {
        for (const int64_t window : {1, 5, 200}) {
          if (exact > k) continue;
          const RowsBeside rows{k, exact, span, window};
          for (int64_t n = 1; n <= 120; ++n) {
            const int64_t seen = rows.visible_rows(n);
            CHECK(seen == counted(rows, n));
            CHECK((seen > 0) == (n >= rows.shortest_sequence()));
          }
        }
      }
    }
  }
}

TEST_CASE("without a span all rows take part in every text") {
  const RowsBeside rows{9, 2, 0, 50};
  CHECK(rows.shortest_sequence() == 0);
  for (const int64_t n : {1, 51, 52, 1000}) CHECK(rows.visible_rows(n) == 9);
}

TEST_CASE("the largest values that a file may have do not overflow") {
  const int64_t most = max_dimension;
  CHECK(RowsBeside{most, 0, 1, 1}.visible_rows(most) == most);
  CHECK(RowsBeside{most, 0, most, 1}.visible_rows(most - 1) == most - 1);
  CHECK(RowsBeside{most, 8, most, 1}.visible_rows(most) == most);
  CHECK(RowsBeside{most, 0, 1, UINT32_MAX}.visible_rows(most) == 0);
}

TEST_CASE("rows that take no part cost no FLOPs") {
  RandomModel shape;
  shape.n = 200;
  shape.k = 23;
  shape.d_model = 48;
  shape.heads = 4;
  shape.layers = 2;
  shape.order = ProjectionOrder::after_linear;
  shape.layer.attention.window = 30;
  const auto all = linformer_test::random_model(shape);
  shape.span = 150;
  const auto some = linformer_test::random_model(shape);
  for (const int64_t n : {1, 31, 32, 100, 149, 150, 200}) {
    CAPTURE(n);
    const RowsBeside rows{23, 0, 150, 30};
    // A row costs 2 n D in each layer for each of its key, value, scores and context.
    const double saved = 2. * 2 * 4 * 48 * static_cast<double>(n * (23 - rows.visible_rows(n)));
    CHECK(flop(*all, n) - flop(*some, n) == doctest::Approx(saved));
  }
}

}  // namespace linformer_test::rows_beside_test
