// A number of elements or bytes that detects overflow: if a sum or product doesn't fit into 64 bits, it is invalid, and
// so is everything that is computed from it. Only get() reads the number, and it says whether the number is valid.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

class Count {
 public:
  constexpr Count() = default;
  constexpr Count(int64_t value) : value_(value < 0 ? 0 : static_cast<uint64_t>(value)), valid_(value >= 0) {}
  static constexpr Count bytes(uint64_t value) {
    Count count;
    count.value_ = value;
    return count;
  }

  friend constexpr Count operator+(Count a, Count b) {
    Count sum;
    sum.valid_ = !__builtin_add_overflow(a.value_, b.value_, &sum.value_) && a.valid_ && b.valid_;
    return sum;
  }
  friend constexpr Count operator*(Count a, Count b) {
    Count product;
    product.valid_ = !__builtin_mul_overflow(a.value_, b.value_, &product.value_) && a.valid_ && b.valid_;
    return product;
  }
  // Returns the larger number. The result is invalid if `a` or `b` is.
  friend constexpr Count larger(Count a, Count b) {
    Count result = a.value_ > b.value_ ? a : b;
    result.valid_ = a.valid_ && b.valid_;
    return result;
  }
  // Rounds up to a multiple of `multiple`, which is at least 1.
  constexpr Count rounded_up(uint64_t multiple) const {
    const uint64_t rest = value_ % multiple;
    return rest == 0 ? *this : *this + bytes(multiple - rest);
  }

  constexpr bool valid() const { return valid_; }
  // Returns false, and leaves *value unchanged, if the number is invalid.
  [[nodiscard]] constexpr bool get(uint64_t* value) const {
    if (valid_) *value = value_;
    return valid_;
  }

 private:
  uint64_t value_ = 0;
  bool valid_ = true;
};

}  // namespace LINFORMER_NAMESPACE
