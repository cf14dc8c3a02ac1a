#include "command_line/display.h"

#include <doctest/doctest.h>

#include <limits>

#include "answers/answers.h"

namespace linformer_test::display_test {

using namespace linformer::cli;

TEST_CASE("excerpts fit the width and contain nothing that disturbs a terminal") {
  CHECK(excerpt("short", 20) == "short");
  CHECK(excerpt("exactly", 7) == "exactly");
  CHECK(excerpt("one too many", 11) == "one too ma\xE2\x80\xA6");
  CHECK(excerpt("  a \t\r\n b\n", 20) == "a b");
  CHECK(excerpt("\x1B[31mred\x07", 20) == "[31mred");
  CHECK(excerpt(std::string("a\0b", 3), 20) == "a b");
  CHECK(excerpt("\xFFx", 20) == "\xEF\xBF\xBDx");
  CHECK(excerpt("\xE2\x80\xAE"
                "abc",
                20) == "abc");  // right-to-left override
  CHECK(excerpt("\xE6\xBC\xA2\xE5\xAD\x97", 4) == "\xE6\xBC\xA2\xE5\xAD\x97");
  CHECK(display_width(excerpt("\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2", 5)) <= 5);
  CHECK(excerpt("abc", 0) == "");
  for (int width = 1; width < 40; ++width) {
    CHECK(display_width(excerpt("\xE6\xBC\xA2 a\xCC\x81 \xF0\x9F\x98\x80 text that goes on and on", width)) <= width);
  }
}

TEST_CASE("tables are aligned") {
  Table table({"name", "n"}, {false, true});
  table.add({"a", "1"});
  table.add({"\xE6\xBC\xA2\xE5\xAD\x97xx", "1,000"});
  CHECK(table.text() == "name        n\na           1\n\xE6\xBC\xA2\xE5\xAD\x97xx  1,000\n");
}

TEST_CASE("numbers are printed with grouped, fixed, significant or shortest digits") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(byte_size(1023) == "1023 bytes");
  CHECK(byte_size(1536) == "1.5 KiB");
  CHECK(fixed(0.5, 2) == "0.50");
  CHECK(fixed(std::numeric_limits<double>::quiet_NaN(), 2) == "-");
  CHECK(fixed(-1.25, 1) == "-1.2");
  CHECK(fixed(1e300, 2).size() == 304);  // no digit is cut
  CHECK(std::stod(fixed(1e300, 2)) == 1e300);
  CHECK(std::stod(fixed(-std::numeric_limits<double>::max(), 6)) == -std::numeric_limits<double>::max());
  CHECK(fixed(std::numeric_limits<double>::infinity(), 2) == "inf");
  CHECK(significant(3.125, 7) == "3.125");
  CHECK(significant(1.0 / 3, 7) == "0.3333333");
  CHECK(significant(2.5e-12, 7) == "2.5e-12");
  CHECK(significant(std::numeric_limits<double>::quiet_NaN(), 7) == "-");
  CHECK(double_of_shortest_text(0.1f) == 0.1);
  CHECK(shortest_text(0.1f) == "0.1");
  CHECK(shortest_text(1.25e-9f) == "1.25e-09");
  CHECK(std::stof(shortest_text(-1.17549435e-38f)) == -1.17549435e-38f);
  CHECK(shortest_text(std::numeric_limits<float>::quiet_NaN()) == "-");
}

TEST_CASE("best classes are in descending order, ties by index, within top-k and threshold") {
  const std::vector<float> probabilities = {0.1f, 0.4f, 0.1f, 0.4f};
  CHECK(best_classes(probabilities, linformer::HeadKind::single_label, {.top_k = 4, .threshold = 0}) ==
        std::vector<size_t>{1, 3, 0, 2});
  CHECK(best_classes(probabilities, linformer::HeadKind::single_label, {.top_k = 3, .threshold = 0.3}) ==
        std::vector<size_t>{1, 3});
  CHECK(best_classes(probabilities, linformer::HeadKind::single_label, {.top_k = 9, .threshold = 0.9}).empty());
  CHECK(best_classes(probabilities, linformer::HeadKind::single_label, {}).front() == 1);
}

}  // namespace linformer_test::display_test
