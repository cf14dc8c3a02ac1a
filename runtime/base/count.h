// A number of elements or bytes that cannot be computed wrongly: once a sum or product no longer fits, it and all
// that is made of it is invalid. The number is read by get() alone, which says so.
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
  // The larger; invalid if one of them is.
  friend constexpr Count larger(Count a, Count b) {
    Count result = a.value_ > b.value_ ? a : b;
    result.valid_ = a.valid_ && b.valid_;
    return result;
  }
  // The next multiple of `multiple`, at least 1.
  constexpr Count rounded_up(uint64_t multiple) const {
    const uint64_t rest = value_ % multiple;
    return rest == 0 ? *this : *this + bytes(multiple - rest);
  }

  constexpr bool valid() const { return valid_; }
  // False where the number didn't fit; *value is then unchanged.
  [[nodiscard]] constexpr bool get(uint64_t* value) const {
    if (valid_) *value = value_;
    return valid_;
  }

 private:
  uint64_t value_ = 0;
  bool valid_ = true;
};

}  // namespace LINFORMER_NAMESPACE
