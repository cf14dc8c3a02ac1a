// Puts control characters into each string of a model file whose checksums are right. The file must be refused, or the
// string printed without the control characters.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "cli/sentiment_model.h"
#include "hostile_model/hostile_file.h"
#include "model/description_fields.h"
#include "terminal/printed.h"

namespace linformer_test::model_strings_test {

using namespace linformer;

namespace {

// Collects the strings of a description.
class Strings : public FieldVisitor {
 public:
  std::set<std::string> all;

  template <class T>
  void operator()(const Field& field, const T& value) {
    if constexpr (std::is_same_v<T, String>) {
      all.insert(std::string(value));
    } else if constexpr (HasFields<T>) {
      FieldsOf<T>::visit(*this, value);
    } else {
      static_cast<void>(field);
    }
  }
  template <class T>
  void operator()(const Field& field, const Array<T>& list) {
    for (const T& value : list) (*this)(field, value);
  }
  template <class T>
  void optional(const Field& field, std::initializer_list<bool>, const T& value) {
    (*this)(field, value);
  }
};

void write(const HostileFile& file, const std::string& path) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.bytes().data()), static_cast<std::streamsize>(file.size()));
}

}  // namespace

TEST_CASE("control characters in a string of a model file are refused or not printed") {
  const Folder folder;
  const std::string path = folder.path("hostile.lnfr"), back = folder.path("back.safetensors");
  TinyModel tiny;
  tiny.builder.origin.settings = "{\"heads\": 4, \"comment\": \"for the test\"}";
  Strings strings;
  FieldsOf<ModelDescription>::visit(strings, tiny.builder.description);
  // These are strings in the origin's settings, which the export to a checkpoint uses, and a token of the vocabulary.
  strings.all.insert({"for the test", "comment", " the"});
  constexpr std::string_view hostile[] = {"\x1b[31m", "\nINJECTED", "\xc2\x9b", "\x7f", "\r", "\xff"};
  size_t places = 0, refused = 0, turn = 0;
  for (const std::string& string : strings.all) {
    if (string.size() < 3) continue;
    CAPTURE(string);
    ++turn;
    for (size_t kind = 0; kind < std::size(hostile); ++kind) {
      if (kind != turn % std::size(hostile) && !exhaustive()) continue;
      CAPTURE(kind);
      HostileFile file(tiny.builder.serialize());
      const std::span<std::byte> metadata = file.metadata();
      char* const begin = reinterpret_cast<char*>(metadata.data());
      const size_t bytes = std::min(string.size(), hostile[kind].size());
      size_t found = 0;
      for (char* at = begin;;) {
        at = std::search(at, begin + metadata.size(), string.begin(), string.end());
        if (at == begin + metadata.size()) break;
        std::copy_n(hostile[kind].begin(), bytes, at);
        at += string.size();
        ++found;
      }
      REQUIRE(found > 0);
      places += found;
      file.fix_checksums();
      write(file, path);
      const Ran inspected = run_and_check_output(LINFORMER_PROGRAM, {"inspect", path, "--tensors"});
      const Ran as_json = run_and_check_output(LINFORMER_PROGRAM, {"inspect", path, "--json"});
      CHECK(inspected.code == as_json.code);
      refused += inspected.code == 1;
      run_and_check_output(LINFORMER_CONVERT, {"--from-lnfr", path, "-o", back, "--verbose", "--force"});
      run_and_check_output(LINFORMER_CONVERT, {"--from-lnfr", path, "-o", back, "--json", "--force"});
      if (inspected.code == 1) continue;
      run_and_check_output(LINFORMER_PROGRAM, {"classify", path, "the good film", "--all-heads", "--top-k", "3"});
      run_and_check_output(LINFORMER_PROGRAM, {"tokenize", path, "the good film"});
      run_and_check_output(LINFORMER_PROGRAM, {"fill-mask", path, "the good <mask>", "--top-k", "64"});
    }
  }
  CHECK(places >= 40);
  CHECK(refused > places / 2);
}

}  // namespace linformer_test::model_strings_test
