// Compares nearest_name(), which finds the name that a misspelt one probably meant, with the plain algorithm that fills
// the whole table of edit distances.
#include "converter/dialects/nearest_name.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace linformer_test::nearest_name_test {

using linformer::convert::nearest_name;

namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      rows[i][j] =
          std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

TEST_CASE("names with few changes are found, others are not") {
  std::mt19937 random(7);
  int found = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string name, other;
    const size_t length = 1 + random() % 12;
    for (size_t i = 0; i < length; ++i) name += static_cast<char>('a' + random() % 3);
    other = name;
    for (uint32_t changes = random() % 4; changes > 0; --changes) {
      const size_t at = random() % (other.size() + 1);
      const char letter = static_cast<char>('a' + random() % 3);
      if (random() % 3 == 0) {
        other.insert(at, 1, letter);
      } else if (at < other.size() && random() % 2 == 0) {
        other.erase(at, 1);
      } else if (at + 1 < other.size()) {
        std::swap(other[at], other[at + 1]);
      }
    }
    const size_t changes = edit_distance(name, other);
    const bool near = changes <= 2 && 2 * changes < std::min(name.size(), other.size());
    CAPTURE(name);
    CAPTURE(other);
    REQUIRE(nearest_name(name, {other}) == (near ? other : ""));
    found += near;
  }
  CHECK(found > 1000);
}

TEST_CASE("differences in case, - and _ don't count") {
  CHECK(nearest_name("Num-Layers", {"num_layers"}) == "num_layers");
  CHECK(nearest_name("numLayers_", {"num_layers"}) == "num_layers");
  CHECK(nearest_name("num_layer", {"num_layers", "layers"}) == "num_layers");
  CHECK(nearest_name("unlike", {"num_layers"}).empty());
}

}  // namespace linformer_test::nearest_name_test
