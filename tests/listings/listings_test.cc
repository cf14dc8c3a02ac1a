// Lists the program of each variant at three lengths and compares the listing with a recorded one, so that a change of
// lowering shows which ops it changes.
//   LINFORMER_RECORD=1 ctest --preset release -R ^listings     writes the folder `recorded` again
// Read the difference line by line before you commit it.
#include <doctest/doctest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "session/variants.h"

namespace linformer_test::listings_test {
namespace {

using namespace linformer;

#if defined(LINFORMER_TEST_DEVICE)
constexpr int device = 0;
#else
constexpr int device = -1;
#endif

// The lengths of the texts, in tokens. No variant has another number that equals one of them (k is 19), so that
// listings can have the letter n in place of the length.
constexpr int64_t lengths[] = {13, 41, 127};
constexpr auto longest = static_cast<uint32_t>(lengths[2]);

// Returns the text with the letter n in place of each number that equals the argument `n`.
std::string with_n(const std::string& text, int64_t n) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::string number = text.substr(i, end - i);
    if (number.empty()) {
      result += text[i++];
    } else {
      result += number == std::to_string(n) ? "n" : number;
      i = end;
    }
  }
  return result;
}

struct Op {
  std::string stage, text;
  std::string lengths;  // The lengths (of the constant `lengths`) for which the program has the op.
  std::string cost;     // Operations + bytes at the longest of these. CPU and device have the same formulas.
};

// The key is the number of the stage and the number of the op in the stage.
using Ops = std::map<std::pair<int, int>, Op>;

struct Visit {
  Ops* ops;
  size_t length;  // An index of `lengths`.
  int stage = -1, op = 0;
};

void add_line(void* context, const ProgramLine& line) {
  auto& visit = *static_cast<Visit*>(context);
  visit.op = line.stage == visit.stage ? visit.op + 1 : 0;
  visit.stage = line.stage;
  Op& op = (*visit.ops)[{visit.stage, visit.op}];
  const int64_t n = lengths[visit.length];
  op.stage = std::to_string(line.stage) + (line.joins ? "+ " : " ") + line.part + ", " + line.domain + ", " +
             line.condition + (line.in_first_rows ? ", instead" : "");
  // If operands still differ between two lengths, as the number of a convolution's windows does, both are listed.
  const std::string text = with_n(std::string(line.op) + ": " + line.operands, n);
  if (op.text.empty()) {
    op.text = text;
  } else if (!op.text.ends_with(text)) {
    op.text += " / " + text;
  }
  op.lengths += " " + std::to_string(n);
  if (device >= 0) return;
  char cost[80];
  std::snprintf(cost, sizeof cost, " | %.0f + %.0f", line.flop, line.bytes);
  op.cost = cost;
}

// Returns the stages of a model's program and the operands of each op. The text doesn't depend on this machine: the
// precision is chosen as for a machine that is faster in bf16.
std::string listing(const RandomModel& shape) {
  SessionOptions options;
  options.cpu.threads = 2;
  options.cpu.block_rows = 32;
  options.cuda.device = device;
  options.memory.max_batch = 2;
  const auto model = random_model(shape);
  Ops ops;
  for (size_t i = 0; i < std::size(lengths); ++i) {
    Visit visit{&ops, i};
    const Status status = list_program(*model, options, lengths[i], add_line, &visit);
    if (!status.ok()) return std::string(status.message()) + "\n";
  }
  std::string text, all;
  for (const int64_t n : lengths) all += " " + std::to_string(n);
  const std::string* stage = nullptr;
  for (const auto& [number, op] : ops) {
    if (stage == nullptr || *stage != op.stage) text += op.stage + "\n";
    stage = &op.stage;
    text += "  " + op.text;
    if (op.lengths != all) text += " | for n =" + op.lengths;
    text += op.cost + "\n";
  }
  return text;
}

// Turns the name of a variant into the name of a file.
std::string file_name(const std::string& name) {
  std::string result;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += c;
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  return result;
}

void compare(const std::string& name, const std::string& made) {
  const std::string path = std::string(LINFORMER_LISTINGS) + "/" + file_name(name) + ".txt";
  CAPTURE(path);
  if (std::getenv("LINFORMER_RECORD") != nullptr) {
    std::ofstream(path) << made;
    return;
  }
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), "this program has no recorded listing: set LINFORMER_RECORD=1 to record it");
  std::istringstream now(made);
  std::string expected, line;
  for (int number = 1; std::getline(file, expected); ++number) {
    CAPTURE(number);
    REQUIRE(std::getline(now, line));
    REQUIRE(line == expected);
  }
  const bool more = static_cast<bool>(std::getline(now, line));
  CHECK_MESSAGE(!more, "the program has a line that is not in the recorded listing: ", line);
}

// Returns the variants whose programs are listed: all of them for the CPU, every second one for a device.
std::vector<Variant> listed() {
  std::vector<Variant> all = linformer_test::variants(longest), some;
  for (size_t i = 0; i < all.size(); i += device >= 0 ? 2 : 1) some.push_back(std::move(all[i]));
  return some;
}

}  // namespace

TEST_CASE("the program of each variant is the recorded one at three lengths") {
  for (const Variant& variant : listed()) compare(variant.name, listing(variant.shape));
}

TEST_CASE("the programs of bf16 and int8 files are the recorded ones") {
  for (const ElementType type : {ElementType::bf16, ElementType::int8}) {
    std::string made;
    for (const Variant& variant : linformer_test::variants(longest)) {
      if (variant.name != "full" && variant.name != "scaled by length" && variant.name != "rotary, window, gated") {
        continue;
      }
      RandomModel shape = variant.shape;
      shape.type = type;
      made += variant.name + "\n" + listing(shape);
    }
    compare(type == ElementType::bf16 ? "bf16" : "int8", made);
  }
}

TEST_CASE("the recorded listings take at most 300 KB, and each belongs to a variant") {
  size_t files = 0;
  uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LINFORMER_LISTINGS)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    bytes += entry.file_size();
  }
  CHECK(files == listed().size() + 2);
  CHECK(bytes <= (device >= 0 ? 100'000 : 200'000));
}

}  // namespace linformer_test::listings_test
