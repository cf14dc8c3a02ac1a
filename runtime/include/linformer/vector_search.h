// VectorSearch: finds the rows of an array that are nearest to a vector, by an exact search that looks at every row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/session.h"
#include "linformer/top_scores.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// How near two vectors are. Greater values are nearer.
enum class Similarity : uint8_t {
  cosine = 0,  // The cosine of the angle between them: -1 to 1, and 0 for a vector of zeros.
  dot,         // The dot product.
};

struct VectorSearchOptions {
  Similarity similarity = Similarity::cosine;
  int64_t top_k = 10;   // The rows that are found for each query. There are fewer if the array has fewer.
  CpuOptions cpu = {};  // threads, isa, parallel and parallel_context are used. The backend is always native.
};

// Searches vectors. It owns its threads, and reads the caller's rows in place. They may lie in a mapped file of any
// size. One pass over the rows serves 64 queries, or fewer if top_k is large. Not thread-safe: one call at a time.
// Movable.
class VectorSearch {
 public:
  // `rows` is float32 [n, width]. It must live, unchanged, for as long as it is searched. The search takes memory for
  // 64 queries and for top_k rows for each thread and query. Returns invalid_argument for a width or an option out of
  // range and for rows that aren't of that width; unsupported for an instruction set that this machine lacks;
  // out_of_memory.
  static Result<VectorSearch> create(std::span<const float> rows, int64_t width,
                                     const VectorSearchOptions& options = {});
  // Replaces the rows by others of the same width, for callers that get the rows in parts. Returns invalid_argument if
  // they aren't of that width.
  Status set_rows(std::span<const float> rows);

  // Searches for `queries`, [q, width]. best[i * top_k + j] gets the j-th best row of query i; rows of equal scores are
  // ordered by index. counts[i] gets the number of rows that were found, which is less than top_k if there are fewer
  // rows or if scores aren't finite numbers. A score depends only on the row and the query, not on the threads or on
  // the other queries. Returns invalid_argument if `queries` isn't of that width, too_long if `best` or `counts` is too
  // small, and cancelled. control.progress gets the share of the queries that are done.
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
