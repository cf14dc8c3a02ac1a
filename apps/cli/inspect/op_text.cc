#include "inspect/op_text.h"

#include <algorithm>
#include <cstdio>

namespace linformer::cli {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Removes and returns the next piece of `text`: a word, or one character between words.
std::string_view take_piece(std::string_view* text) {
  const size_t end = text->find_first_of(" [](),");
  const std::string_view piece = text->substr(0, std::max<size_t>(std::min(end, text->size()), 1));
  text->remove_prefix(piece.size());
  return piece;
}

// Removes and returns a number at the start of `text`, or the "*" that stands for numbers that differ.
std::string_view take_number(std::string_view* text) {
  size_t length = 0;
  while (length < text->size() && digit((*text)[length])) ++length;
  if (length == 0 && text->starts_with('*')) length = 1;
  const std::string_view number = text->substr(0, length);
  text->remove_prefix(length);
  return number;
}

std::optional<std::string> common_name(std::string_view a, std::string_view b) {
  std::string common;
  while (!a.empty() && !b.empty()) {
    const std::string_view number = take_number(&a), other = take_number(&b);
    if (number.empty() != other.empty()) return std::nullopt;
    if (!number.empty()) {
      common += number == other ? number : "*";
      continue;
    }
    if (a[0] != b[0]) return std::nullopt;
    common += a[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (!a.empty() || !b.empty()) return std::nullopt;
  return common;
}

}  // namespace

int layer_of(const ProgramLine& line) {
  int layer = -1;
  return std::sscanf(line.part, "layer %d", &layer) == 1 ? layer : -1;
}

std::optional<std::string> common_operands(std::string_view a, std::string_view b) {
  std::string common;
  while (!a.empty() && !b.empty()) {
    const std::string_view piece = take_piece(&a), other = take_piece(&b);
    if (piece == other) {
      common += piece;
      continue;
    }
    if (std::none_of(piece.begin(), piece.end(), letter)) return std::nullopt;
    const std::optional<std::string> name = common_name(piece, other);
    if (!name) return std::nullopt;
    common += *name;
  }
  if (!a.empty() || !b.empty()) return std::nullopt;
  return common;
}

bool is_same_op(const ProgramLine& a, const ProgramLine& b) {
  const auto same = [](std::string_view text, std::string_view other) { return text == other; };
  return a.joins == b.joins && same(a.domain, b.domain) && same(a.condition, b.condition) && same(a.op, b.op) &&
         a.flop == b.flop && a.bytes == b.bytes && common_operands(a.operands, b.operands).has_value();
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    ranges.push_back(std::to_string(numbers[i]) + (end - i < 3 ? "" : " to " + std::to_string(numbers[end - 1])));
    i = end;
  }
  std::string text;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const char* between = i == 0 ? "" : i + 1 == ranges.size() && ranges.size() == 2 ? " and " : ", ";
    text += between + ranges[i];
  }
  return text;
}

}  // namespace linformer::cli
