#include "text/bert_unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Together these ranges contain every mark (Mn), punctuation and format character (Cf) that Unicode 8 lacked or put in
// another category, and none that was in the same category then. They were derived from the classes that the reference
// (Hugging Face's tokenizers) gives to each code point.
constexpr struct {
  uint32_t first, last;
} younger_than_unicode_8[] = {
    {0x61D, 0x61D},     {0x7FD, 0x7FD},     {0x890, 0x8E2},     {0x9FD, 0x9FE},     {0xA76, 0xA76},
    {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xC77, 0xC77},     {0xC84, 0xC84},
    {0xD00, 0xD00},     {0xD3B, 0xD3C},     {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},
    {0x180F, 0x1886},   {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F89},
    {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
    {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF},
    {0x12FF1, 0x13455}, {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF},
    {0x1E944, 0x1E95F}};

bool is_younger(uint32_t code_point) {
  if (code_point < younger_than_unicode_8[0].first) return false;
  const auto* after = std::upper_bound(std::begin(younger_than_unicode_8), std::end(younger_than_unicode_8), code_point,
                                       [](uint32_t value, const auto& range) { return value < range.first; });
  return code_point <= std::prev(after)->last;
}

// These characters have changed their category since Unicode 8, whose categories the reference uses.
constexpr uint32_t hanunoo_pamudpod = 0x1734;      // Was a nonspacing mark.
constexpr uint32_t canadian_chi_sign = 0x166D;     // Was punctuation.
constexpr uint32_t sharada_sandhi_mark = 0x111C9;  // Was punctuation.

const utf8proc_property_t& properties(uint32_t code_point) {
  return *utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

bool is_bert_punctuation(uint32_t code_point) {
  if (code_point < 0x80) {
    return between(code_point, '!', '/') || between(code_point, ':', '@') || between(code_point, '[', '`') ||
           between(code_point, '{', '~');
  }
  if (code_point == canadian_chi_sign || code_point == sharada_sandhi_mark) return true;
  return between(properties(code_point).category, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO) &&
         !is_younger(code_point);
}

bool is_removed_by_clean_text(uint32_t code_point) {
  if (code_point < 0x80) {
    return code_point == 0x7F || (code_point < 0x20 && code_point != '\t' && code_point != '\n' && code_point != '\r');
  }
  if (code_point == 0xFFFD) return true;
  const auto category = properties(code_point).category;
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CO ||
         (category == UTF8PROC_CATEGORY_CF && !is_younger(code_point));
}

bool is_cjk_ideograph(uint32_t code_point) {
  if (code_point < 0x3400) return false;
  return between(code_point, 0x4E00, 0x9FFF) || between(code_point, 0x3400, 0x4DBF) ||
         between(code_point, 0x20000, 0x2A6DF) || between(code_point, 0x2A700, 0x2B73F) ||
         between(code_point, 0x2B740, 0x2B81F) ||
         between(code_point, 0x2B920, 0x2CEAF) ||  // BERT's own code has 2B820, Hugging Face's tokenizers have 2B920.
         between(code_point, 0xF900, 0xFAFF) || between(code_point, 0x2F800, 0x2FA1F);
}

bool is_accent(uint32_t code_point) {
  if (code_point == hanunoo_pamudpod) return true;
  return properties(code_point).category == UTF8PROC_CATEGORY_MN && !is_younger(code_point);
}

int combining_class(uint32_t code_point) { return properties(code_point).combining_class; }

size_t decompose(uint32_t code_point, uint32_t* decomposed) {
  decomposed[0] = code_point;
  if (is_younger(code_point)) return 1;
  utf8proc_int32_t parts[max_decomposition];
  int boundary_class = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), parts,
                                                         max_decomposition, UTF8PROC_DECOMPOSE, &boundary_class);
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(max_decomposition)) return 1;
  std::copy(parts, parts + count, decomposed);
  return static_cast<size_t>(count);
}

}  // namespace LINFORMER_NAMESPACE
