#include "text/normal_unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace LINFORMER_NAMESPACE {
namespace {

struct Range {
  uint32_t first, last;
};

// Together these ranges contain every mark that is newer than the Unicode version of the reference (Hugging Face's
// tokenizers), and none that is older. These ranges and the ones below were derived from what the reference does with
// each code point.
constexpr Range younger_marks[] = {
    {0x7FD, 0x7FD},     {0x898, 0x8D3},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},     {0xB55, 0xB55},
    {0xC04, 0xC3C},     {0xCF3, 0xD00},     {0xD3B, 0xD3C},     {0xD81, 0xD81},     {0xEBA, 0xEBA},
    {0xECE, 0xECE},     {0x1715, 0x1715},   {0x180F, 0x180F},   {0x1ABF, 0x1ACE},   {0x1CF7, 0x1CF7},
    {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0xA8FF, 0xA8FF},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF}, {0x11241, 0x11241},
    {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x11A99}, {0x11D31, 0x13455}, {0x16F4F, 0x16F4F},
    {0x16F7F, 0x16F87}, {0x16FE4, 0x16FF1}, {0x1CF00, 0x1CF46}, {0x1E08F, 0x1E4EF}};
constexpr Range changed_marks = {0x1CF2, 0x1CF3};  // These characters were marks in that version.

constexpr Range younger_compositions[] = {{0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xAB69, 0xAB69},
                                          {0x10781, 0x107BA}, {0x11938, 0x11938}, {0x1E030, 0x1E06D},
                                          {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}};

template <size_t count>
bool is_in(const Range (&ranges)[count], uint32_t code_point) {
  if (code_point < ranges[0].first) return false;
  const Range* after = std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                                        [](uint32_t value, const Range& range) { return value < range.first; });
  return code_point <= std::prev(after)->last;
}

}  // namespace

bool is_combining_mark(uint32_t code_point) {
  if (code_point < 0x300) return false;
  if (code_point >= changed_marks.first && code_point <= changed_marks.last) return true;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME && !is_in(younger_marks, code_point);
}

size_t decompose_compatibly(uint32_t code_point, uint32_t* decomposed) {
  decomposed[0] = code_point;
  if (code_point < 0x80) return 1;
  if (is_in(younger_compositions, code_point)) return 1;
  utf8proc_int32_t parts[max_decomposition];
  int boundary_class = 0;
  constexpr auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), parts,
                                                         max_decomposition, options, &boundary_class);
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(max_decomposition)) return decompose(code_point, decomposed);
  std::copy(parts, parts + count, decomposed);
  return static_cast<size_t>(count);
}

uint32_t compose(uint32_t first, uint32_t second) {
  if (second < 0x300) return 0;
  constexpr auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  return utf8proc_normalize_utf32(pair, 2, options) == 1 ? static_cast<uint32_t>(pair[0]) : 0;
}

bool is_grapheme_boundary(uint32_t before, uint32_t after, int32_t* state) {
  if (before < 0x80 && after < 0x80 && before != '\r') {
    *state = 0;
    return true;
  }
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before), static_cast<utf8proc_int32_t>(after),
                                          state);
}

}  // namespace LINFORMER_NAMESPACE
