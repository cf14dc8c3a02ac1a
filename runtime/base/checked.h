// Checked arithmetic. Numbers that come from files or callers are added and multiplied by the functions of this header
// and of base/count.h, unless a check has bounded them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// These two functions return false on overflow.
inline bool checked_add(uint64_t a, uint64_t b, uint64_t* sum) { return !__builtin_add_overflow(a, b, sum); }
inline bool checked_mul(uint64_t a, uint64_t b, uint64_t* product) { return !__builtin_mul_overflow(a, b, product); }

// Returns whether [offset, offset + bytes) lies inside [0, size). It subtracts instead of adding, so it can't overflow.
inline bool range_within(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

// Rounds up to a multiple of `alignment`, which is a power of two. Returns false on overflow.
inline bool checked_round_up(uint64_t value, uint64_t alignment, uint64_t* rounded) {
  uint64_t sum = 0;
  if (!checked_add(value, alignment - 1, &sum)) return false;
  *rounded = sum & ~(alignment - 1);
  return true;
}

// These two don't detect overflow. They are for values that a check has bounded.
constexpr int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
constexpr int64_t ceil_div(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

// A running sum of bytes that remembers whether it has ever overflowed. Backends compute their scratch sizes with it.
class CheckedSize {
 public:
  void add(uint64_t bytes) { valid_ = valid_ && checked_add(value_, bytes, &value_); }
  void add_product(uint64_t a, uint64_t b, uint64_t c = 1) {
    uint64_t product = 0;
    valid_ = valid_ && checked_mul(a, b, &product) && checked_mul(product, c, &product);
    if (valid_) add(product);
  }
  void align(uint64_t alignment) { valid_ = valid_ && checked_round_up(value_, alignment, &value_); }
  bool valid() const { return valid_; }
  uint64_t value() const { return value_; }
  uint64_t saturated() const { return valid_ ? value_ : UINT64_MAX; }

 private:
  uint64_t value_ = 0;
  bool valid_ = true;
};

}  // namespace LINFORMER_NAMESPACE
