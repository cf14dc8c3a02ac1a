// Compares the function that Windows builds use for patterns of file names with POSIX's fnmatch(). The patterns have no
// character classes such as [:alpha:], because the function for Windows does not support them.
#include <doctest/doctest.h>
#include <fnmatch.h>

#include <string>

#include "support/chance.h"

namespace linformer::files {
// This is fits_pattern() of converter/files/name_pattern_windows.cc. The build compiles that file with this other name
// for the function, so that both systems' functions can be in one program.
bool fits_pattern_of_windows(const std::string& pattern, const std::string& name);
}  // namespace linformer::files

namespace linformer_test::name_pattern_test {

using linformer::files::fits_pattern_of_windows;

namespace {

bool fits_in_posix(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::string text_of(std::string_view characters, uint32_t longest, Chance& chance) {
  std::string text;
  for (uint32_t left = chance.pick(0, longest); left > 0; --left) {
    text += characters[chance.pick(0, static_cast<uint32_t>(characters.size()) - 1)];
  }
  return text;
}

}  // namespace

TEST_CASE("name patterns of Windows builds decide as fnmatch does") {
  CHECK(fits_pattern_of_windows("*.safetensors", "model-00001-of-00002.safetensors"));
  CHECK_FALSE(fits_pattern_of_windows("*.safetensors", "model.bin"));
  size_t fitting = 0;
  constexpr int cases = 200000;
  for (int i = 0; i < cases; ++i) {
    Chance chance(i);
    const std::string pattern = text_of("ab*?[]-!^\\", 9, chance), name = text_of("ab-]^![\\", 6, chance);
    const bool expected = fits_in_posix(pattern, name);
    fitting += expected;
    CAPTURE(pattern);
    CAPTURE(name);
    REQUIRE(fits_pattern_of_windows(pattern, name) == expected);
  }
  CHECK(fitting > cases / 100);
}

TEST_CASE("a pattern of 2,000 stars is compared with a long name without exponential time") {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "a*";
  CHECK_FALSE(fits_pattern_of_windows(pattern + "b", std::string(20000, 'a')));
}

}  // namespace linformer_test::name_pattern_test
