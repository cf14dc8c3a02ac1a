// The products that a backend was told of: grows without exceptions, finds equal shapes again.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "backends/backend.h"

namespace linformer {

bool same_shape(const ProductShape& a, const ProductShape& b);
// invalid_argument or unsupported, naming what no backend can do.
Status check_shape(const ProductShape& shape);
// internal when `arguments` exceed what was declared.
Status check_arguments(const ProductShape& shape, const Product& arguments);

// Entry must have a member `ProductShape shape`.
template <class Entry>
class ProductList {
 public:
  int size() const { return size_; }
  Entry& operator[](int i) { return entries_[i]; }
  const Entry& operator[](int i) const { return entries_[i]; }

  int find(const ProductShape& shape) const {
    for (int i = 0; i < size_; ++i) {
      if (same_shape(entries_[i].shape, shape)) return i;
    }
    return -1;
  }

  Result<int> append(Entry entry) {
    if (size_ == capacity_) {
      const int capacity = capacity_ == 0 ? 16 : 2 * capacity_;
      std::unique_ptr<Entry[]> larger(new (std::nothrow) Entry[static_cast<size_t>(capacity)]);
      if (!larger) return Status::error(Code::out_of_memory, "no memory to declare %d matrix products", capacity);
      for (int i = 0; i < size_; ++i) larger[i] = std::move(entries_[i]);
      entries_ = std::move(larger);
      capacity_ = capacity;
    }
    entries_[size_] = std::move(entry);
    return size_++;
  }

 private:
  std::unique_ptr<Entry[]> entries_;
  int size_ = 0, capacity_ = 0;
};

}  // namespace linformer
