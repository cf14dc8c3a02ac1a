#include <doctest/doctest.h>

#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/description.h"
#include "converter/writer/metadata.h"
#include "format/same_description.h"
#include "format/tiny_model.h"
#include "linformer/model.h"
#include "model/flatbuffers_compat.h"
#include "support/skip.h"

namespace linformer_test::golden_test {

using namespace linformer;

TEST_CASE("each golden file loads, has its original description, and is written again byte for byte") {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    CAPTURE(std::string(name_of(type)));
    const auto model = Model::load(golden_model_path(type).c_str(), {Verify::always, 0});
    CAPTURE(std::string(model.status().message()));
    REQUIRE(model.ok());
    TinyModel tiny(type);
    tiny.set_every_field();
    const writer::AlignedBytes bytes = tiny.builder.serialize();
    CHECK(linformer_test::differing_field(model.value()->description(), tiny.builder.description) == "");
    if (FLATBUFFERS_VERSION_MAJOR != 2) {
      linformer_test::skip("the golden files were written with flatbuffers 2, this is " +
                           std::to_string(FLATBUFFERS_VERSION_MAJOR));
      return;
    }
    std::ifstream file(golden_model_path(type), std::ios::binary);
    const std::vector<char> golden{std::istreambuf_iterator<char>(file), {}};
    REQUIRE(golden.size() == bytes.size());
    CHECK(std::memcmp(golden.data(), bytes.data(), golden.size()) == 0);
  }
}

TEST_CASE("the hex dump in FORMAT.md equals the golden file") {
  std::ifstream file(golden_model_path(ElementType::bf16), std::ios::binary);
  const std::vector<char> golden{std::istreambuf_iterator<char>(file), {}};
  std::ifstream format(LINFORMER_FORMAT_DOCUMENT);
  REQUIRE(format);
  int lines = 0;
  for (std::string line; std::getline(format, line);) {
    unsigned offset = 0;
    int used = 0;
    if (line.size() < 14 || line.compare(0, 4, "    ") != 0 || std::isxdigit(line[4]) == 0) continue;
    if (std::sscanf(line.c_str(), "    %6x %n", &offset, &used) != 1 || used != 12) continue;
    ++lines;
    CAPTURE(line);
    for (size_t i = 0; i < 16 && line[static_cast<size_t>(used) + 3 * i] != ' '; ++i) {
      REQUIRE(offset + i < golden.size());
      const std::string byte = line.substr(static_cast<size_t>(used) + 3 * i, 2);
      CHECK(std::stoul(byte, nullptr, 16) == static_cast<unsigned char>(golden[offset + i]));
    }
  }
  CHECK(lines == 21);
}

TEST_CASE("the golden file stays small enough for the hostile tests") {
  TinyModel tiny;
  CHECK(tiny.builder.serialize().size() < 64 * 1024);
}

TEST_CASE("every field survives writing and loading") {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    TinyModel tiny(type);
    tiny.set_every_field();
    const writer::AlignedBytes bytes = tiny.builder.serialize();
    const auto loaded = Model::load(bytes);
    CAPTURE(std::string(loaded.status().message()));
    REQUIRE(loaded.ok());
    CHECK(linformer_test::differing_field(loaded.value()->description(), tiny.builder.description) == "");
  }
}

}  // namespace linformer_test::golden_test
