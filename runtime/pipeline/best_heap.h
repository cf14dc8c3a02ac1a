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

// Returns whether `candidate` belongs to the `capacity` best scores, so that the heap must take it.
inline bool belongs_in_heap(const Array<Scored>& heap, size_t capacity, const Scored& candidate) {
  if (std::isnan(candidate.score)) return false;
  return heap.size() < capacity || (capacity > 0 && is_better(candidate, heap.front()));
}

// Adds `candidate` to the heap. The caller has checked belongs_in_heap(). If the heap is full, the worst score is
// removed and its index is stored in *dropped_index; otherwise *dropped_index is -1. Returns false if there is no
// memory.
[[nodiscard]] inline bool try_push_best(Array<Scored>* heap, size_t capacity, const Scored& candidate,
                                        int64_t* dropped_index) {
  *dropped_index = -1;
  if (heap->size() == capacity) {
    *dropped_index = heap->front().index;
    std::pop_heap(heap->begin(), heap->end(), is_better);
    heap->pop_back();
  }
  if (!heap->try_push(candidate)) return false;
  std::push_heap(heap->begin(), heap->end(), is_better);
  return true;
}

}  // namespace LINFORMER_NAMESPACE
