// A list of the GEMMs that have been declared to a provider, which finds equal descriptions.
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.h"
#include "gemm/gemm.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

bool same_gemm(const GemmDesc& a, const GemmDesc& b);
// Returns internal if `args` don't match the declared GEMM.
Status check_args(const GemmDesc& desc, const GemmArgs& args);

// The GEMMs of a provider. The id of a GEMM is its index. Entry must have a member `GemmDesc desc`.
template <class Entry>
class GemmList {
 public:
  const Entry& operator[](int i) const { return entries_[static_cast<size_t>(i)]; }

  int find(const GemmDesc& desc) const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (same_gemm(entries_[i].desc, desc)) return static_cast<int>(i);
    }
    return -1;
  }

  Result<int> append(Entry entry) {
    const int id = static_cast<int>(entries_.size());
    if (!entries_.try_push(std::move(entry))) {
      return Status::error(Code::out_of_memory, "no memory to declare %d matrix products", id + 1);
    }
    return id;
  }

 private:
  Array<Entry> entries_;
};

}  // namespace LINFORMER_NAMESPACE
