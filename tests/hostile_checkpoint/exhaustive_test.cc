// Reads and converts small files of each format with every truncation and every flipped bit.
#include <doctest/doctest.h>

#include <functional>

#include "converter/tiny_fairseq.h"
#include "hostile_checkpoint/attempt.h"
#include "support/case_step.h"

namespace linformer_test::exhaustive_test {
namespace {

TinyFairseq smallest() {
  TinyFairseq tiny;
  tiny.d = 2;
  tiny.vocabulary = 3;
  tiny.n = 3;
  tiny.k = 1;
  tiny.ffn = 2;
  tiny.layers = 1;
  tiny.heads = 1;
  tiny.value_projection = false;
  tiny.masked_lm = false;
  return tiny;
}

// A checkpoint file in one format. A safetensors file has no settings, so it is read but not converted.
struct Case {
  const char* format;
  std::string file;
  bool convert;
};

std::vector<Case> files(const std::vector<HandTensor>& tensors, const HandSettings& settings) {
  return {{"zip", torch_zip(tensors, settings), true},
          {"legacy", torch_legacy(tensors, settings), true},
          {"safetensors", safetensors(tensors), false}};
}

std::string title(const char* format, const char* what) { return std::string(format) + ", " + what; }

}  // namespace

TEST_CASE("a file that is truncated at any byte is an error") {
  for (const Case& c : files(smallest().tensors(), smallest().settings())) {
    const std::string name = title(c.format, "truncated");
    Attempts attempts(name.c_str());
    for (size_t size = 1; size < c.file.size(); ++size) {
      const std::string error = attempts.attempt(c.file.substr(0, size), false, name + " to " + std::to_string(size));
      if (error.empty()) FAIL_CHECK(name << " to " << size << " was read");
    }
    CHECK(attempts.errors() == c.file.size() - 1);
  }
}

TEST_CASE("a checkpoint with any bit flipped gives an error or is converted") {
  for (const Case& c : files(smallest().tensors(), smallest().settings())) {
    const std::string name = title(c.format, "bits of a checkpoint");
    const Contents expected = read_contents(c.file);
    Attempts attempts(name.c_str());
    REQUIRE(attempts.attempt(c.file, c.convert, name).empty());
    std::string file = c.file;
    for (size_t bit = 0; bit < 8 * file.size(); bit += case_step(7, 3)) {
      const char mask = static_cast<char>(1u << (bit % 8));
      file[bit / 8] = static_cast<char>(file[bit / 8] ^ mask);
      const std::string error = attempts.attempt(file, c.convert, name + ": bit " + std::to_string(bit));
      // The checksums of a zip archive must reveal every altered value.
      if (error.empty() && std::string(c.format) == "zip" && !(attempts.contents() == expected)) {
        FAIL_CHECK(name << ": bit " << bit << " changed a value, and this was not detected");
      }
      file[bit / 8] = static_cast<char>(file[bit / 8] ^ mask);
    }
  }
}

TEST_CASE("a file with a byte deleted or inserted gives an error or is read") {
  for (const Case& c : files(smallest().tensors(), smallest().settings())) {
    const std::string name = title(c.format, "a byte more or less");
    Attempts attempts(name.c_str());
    for (size_t at = 0; at < c.file.size(); at += 3) {
      std::string shorter = c.file, longer = c.file;
      shorter.erase(at, 1);
      longer.insert(at, 1, c.file[at]);
      const std::string where = name + " at " + std::to_string(at);
      // A legacy file doesn't say how long its pickles are, so a file without one of their bytes may be valid too.
      const std::string error = attempts.attempt(shorter, false, where);
      if (error.empty() && std::string(c.format) != "legacy") FAIL_CHECK(where << ": a missing byte was not noticed");
      attempts.attempt(longer, false, where);
    }
    CHECK(!attempts.attempt(c.file + '\0', false, name).empty());
  }
}

TEST_CASE("a file with any number of 2, 4 or 8 bytes set to an extreme gives an error or is read") {
  for (const Case& c : files(smallest().tensors(), smallest().settings())) {
    const std::string name = title(c.format, "extreme numbers");
    Attempts attempts(name.c_str());
    for (const size_t width : {2, 4, 8}) {
      for (size_t at = 0; at + width <= c.file.size(); at += 2 * case_step(3)) {
        for (const char fill : {'\x00', '\xff', '\x7f'}) {
          std::string file = c.file;
          std::fill_n(file.begin() + static_cast<ptrdiff_t>(at), width, '\xff');
          file[at + width - 1] = fill;
          if (fill == '\0') std::fill_n(file.begin() + static_cast<ptrdiff_t>(at), width, '\0');
          attempts.attempt(file, false, name + " at " + std::to_string(at));
        }
      }
    }
  }
}

}  // namespace linformer_test::exhaustive_test
