// VectorSearch: the rows of an array that are nearest to a vector, by looking at all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/session.h"
#include "linformer/top_scores.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// How near two vectors are: more is nearer.
enum class Similarity : uint8_t {
  cosine = 0,  // of the angle between them, -1 to 1; of a vector of zeros 0
  dot,         // the sum of the products of their elements
};

struct VectorSearchOptions {
  Similarity similarity = Similarity::cosine;
  int64_t top_k = 10;   // rows that are found for a query; fewer where there are fewer
  CpuOptions cpu = {};  // threads, isa and parallel; the backend is native
};

// Owns its threads, and reads the caller's rows where they lie, which may be a mapped file of any size: one pass over
// them for 64 queries, or fewer where top_k is large. Not thread-safe: one call at a time. Movable.
class VectorSearch {
 public:
  // `rows`: float32 [n, width], which live, unchanged, as long as they are searched. Memory is that of 64 queries and
  // of top_k rows for each thread and query. Errors: invalid_argument for a width or an option out of range and for
  // rows that are not of that width; unsupported for an instruction set that this machine lacks; out_of_memory.
  static Result<VectorSearch> create(std::span<const float> rows, int64_t width,
                                     const VectorSearchOptions& options = {});
  // Other rows of the same width in their place, for those who search rows as they come. Errors: invalid_argument.
  Status set_rows(std::span<const float> rows);

  // `queries`: [q, width]. best[i * top_k + j] is the j-th best row of query i, equal ones by index, and counts[i] how
  // many these are: a row whose score is no finite number is never found. Scores depend on row and query alone, not on
  // threads, nor on what is searched beside. Errors: invalid_argument for queries that are not of that width; too_long
  // where `best` or `counts` has no room; cancelled. progress counts queries.
  Status search(std::span<const float> queries, std::span<Scored> best, std::span<size_t> counts,
                const RunControl& control = {});

  int64_t rows() const;
  int64_t width() const;
  int64_t top_k() const;

  VectorSearch(VectorSearch&&) noexcept;
  VectorSearch& operator=(VectorSearch&&) noexcept;
  ~VectorSearch();

 private:
  struct State;
  explicit VectorSearch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
