// The GEMMs that a provider was told of: grows without exceptions, finds equal descriptions again.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "gemm/gemm.h"

namespace linformer {

bool same_gemm(const GemmDesc& a, const GemmDesc& b);
// internal when `args` exceed what was declared.
Status check_args(const GemmDesc& desc, const GemmArgs& args);

// Entry must have a member `GemmDesc desc`.
template <class Entry>
class GemmList {
 public:
  const Entry& operator[](int i) const { return entries_[i]; }

  int find(const GemmDesc& desc) const {
    for (int i = 0; i < size_; ++i) {
      if (same_gemm(entries_[i].desc, desc)) return i;
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
