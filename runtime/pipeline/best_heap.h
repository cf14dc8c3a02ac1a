// Keeps the best scores of a stream in a heap. The first element of the heap is the worst score that is kept.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/array.h"
#include "linformer/top_scores.h"

namespace LINFORMER_NAMESPACE {

// Returns whether `a` is better than `b`. If the scores are equal, the lower index is better, so that the result
// doesn't depend on the order of the stream.
inline bool is_better(const Scored& a, const Scored& b) {
  return a.score != b.score ? a.score > b.score : a.index < b.index;
}

// Returns whether `given` belongs to the `most` best scores, so that the heap must take it.
inline bool has_place(const Array<Scored>& heap, size_t most, const Scored& given) {
  if (std::isnan(given.score)) return false;
  return heap.size() < most || (most > 0 && is_better(given, heap.front()));
}

// Adds `given` to the heap. The caller has checked has_place(). If the heap is full, the worst score is removed and its
// index is stored in *dropped; otherwise *dropped is -1. Returns false if there is no memory.
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
