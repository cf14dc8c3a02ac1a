#include "program/arena.h"

#include <algorithm>
#include <cstdio>

namespace LINFORMER_NAMESPACE {
namespace {

constexpr uint64_t buffer_alignment = 64;  // In bytes: a cache line, which is also the widest vector register.
constexpr uint64_t address_space = uint64_t{1} << 47;

}  // namespace

using enum Term;

FormulaText Arena::formula(BufferId buffer) const {
  const BufferInfo& b = info(buffer);
  FormulaText formula{};
  char product[32] = "";
  size_t length = 0;
  for (Term factor : b.factors) {
    if (factor == none) continue;
    const int written =
        std::snprintf(product + length, sizeof product - length, "%s%s", length == 0 ? "" : " x ", info(factor).name);
    if (written > 0) length = std::min(length + static_cast<size_t>(written), sizeof product - 1);
  }
  const bool alternative = b.other != none && value(b.other) > 0;
  char width[8] = "";
  if (b.element_bytes > 1) std::snprintf(width, sizeof width, "%d x ", static_cast<int>(b.element_bytes));
  if (b.each_thread) {
    std::snprintf(formula.text, sizeof formula.text, "threads x (%s%s + apart)", width, product);
  } else {
    std::snprintf(formula.text, sizeof formula.text, "%s%s%s%s%s%s", width, alternative ? "max(" : "", product,
                  alternative ? ", " : "", alternative ? info(b.other).name : "", alternative ? ")" : "");
  }
  return formula;
}

int64_t Arena::value(Term term) const {
  uint64_t number = 0;
  if (!(*this)[term].get(&number) || number > INT64_MAX) return 0;
  return static_cast<int64_t>(number);
}

bool Arena::lay_out(ArenaLayout* layout) const {
  Count total;
  for (const Count& term : terms) {
    if (!term.valid()) return false;
  }
  for (int i = 0; i < buffer_count; ++i) {
    const BufferInfo& b = buffers[i];
    Count part, bytes;
    if (used[i]) {
      Count elements = 1;
      for (Term factor : b.factors) {
        if (factor != none) elements = elements * (*this)[factor];
      }
      if (b.other != none) elements = larger(elements, (*this)[b.other]);
      bytes = elements * Count::bytes(b.element_bytes);
      if (b.each_thread) {
        part = bytes + (*this)[apart];
        bytes = part * (*this)[threads];
      }
      bytes = bytes.rounded_up(buffer_alignment);
    }
    if (!total.get(&layout->offsets[i]) || !part.get(&layout->strides[i]) || !bytes.get(&layout->bytes[i]))
      return false;
    total = total + bytes;
  }
  return total.get(&layout->total) && layout->total < address_space;
}

}  // namespace LINFORMER_NAMESPACE
