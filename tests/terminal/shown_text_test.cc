#include "terminal/shown_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace linformer_test::shown_text_test {

using namespace linformer::terminal;

TEST_CASE("JSON text contains no raw control character, and parses to the same text") {
  std::string text = "a";
  for (int code = 0; code < 0x80; ++code) text += static_cast<char>(code);
  for (int code = 0x80; code < 0x100; ++code) {  // U+0080 to U+00FF
    text += static_cast<char>(0xc0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
  const std::string json = json_text(nlohmann::json{{text, text}});
  CHECK(nlohmann::json::parse(json) == nlohmann::json{{text, text}});
  CHECK(json.find('\x7f') == std::string::npos);
  CHECK(json.find("\\u007f") != std::string::npos);
  CHECK(json.find("\xc2\x9b") == std::string::npos);
  CHECK(json.find("\\u009b") != std::string::npos);
  CHECK(json.find("\xc2\xa0") != std::string::npos);  // the first character after the C1 controls
  CHECK(json.find("\xc3\x9b") != std::string::npos);  // another letter with the same second byte
  CHECK(escape_controls("") == "");
  CHECK(escape_controls("[\"\x7f\"]") == "[\"\\u007f\"]");
  CHECK(json_text(nlohmann::json{1, 2}, 1) == "[\n 1,\n 2\n]");
  CHECK(json_text(nlohmann::json("\xff")) == "\"\xEF\xBF\xBD\"");
}

TEST_CASE("a text that is too wide keeps its beginning or its end") {
  CHECK(excerpt_of_end("docs/a.txt", 10) == "docs/a.txt");
  CHECK(excerpt_of_end("docs/a.txt", 9) == "…cs/a.txt");
  CHECK(excerpt("docs/a.txt", 9) == "docs/a.t…");
  CHECK(excerpt_of_end("a\x1b[2Jb\tc", 40) == "a [2Jb c");
  CHECK(excerpt_of_end("\xE4\xBD\xA0\xE5\xA5\xBD.txt", 6) == "….txt");  // two columns each
  CHECK(excerpt_of_end("abc", 1) == "…");
  CHECK(excerpt_of_end("abc", 0) == "");
  CHECK(excerpt_of_end("", 3) == "");
}

TEST_CASE("a part of a line keeps a space at its ends") {
  CHECK(printable_text("a") == "a");
  CHECK(printable_text("") == "");
  CHECK(printable_text(" \t a\x1b[2J b\n") == " a [2J b ");
  CHECK(printable_text("\n") == " ");
  CHECK(printable_text("\xff") == "\xEF\xBF\xBD");
}

}  // namespace linformer_test::shown_text_test
