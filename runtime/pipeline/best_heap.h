// The best scores so far, as a heap whose first element is the worst of them.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/array.h"
#include "linformer/top_scores.h"

namespace LINFORMER_NAMESPACE {

// Of equal scores the lower index is better, so that the best ones don't depend on the order in which they come.
inline bool is_better(const Scored& a, const Scored& b) {
  return a.score != b.score ? a.score > b.score : a.index < b.index;
}

// Whether a heap of at most `most` elements has a place for `given`.
inline bool has_place(const Array<Scored>& heap, size_t most, const Scored& given) {
  if (std::isnan(given.score)) return false;
  return heap.size() < most || (most > 0 && is_better(given, heap.front()));
}

// Puts `given`, which has a place, into the heap. *dropped: the index of the one that gave way; -1: none did. False:
// there is no memory.
[[nodiscard]] inline bool try_keep(Array<Scored>* heap, size_t most, const Scored& given, int64_t* dropped) {
  *dropped = -1;
  if (heap->size() == most) {
    *dropped = heap->front().index;
    std::pop_heap(heap->begin(), heap->end(), is_better);
    heap->pop_back();
  }
  if (!heap->try_push(given)) return false;
  std::push_heap(heap->begin(), heap->end(), is_better);
  return true;
}

}  // namespace LINFORMER_NAMESPACE
