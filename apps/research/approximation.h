// Computes the smallest rank k at which a low-rank approximation of an attention matrix P has at most a given relative
// error in P V, where V are the head's values. There are three answers: the bounds of theorems 1 and 2 of Wang et al.
// 2020; the rank that random projections need, measured with random matrices as in the proofs; and the rank that the
// truncated singular value decomposition of P needs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "research/spectrum_attention.h"

namespace linformer::research {

// Returns the k of the proof of theorem 1, which is ceil(5 ln(n) / (error^2 - error^3)). The result is at least 1.
int64_t theorem_1_k(int64_t n, double error);
// Returns the k of theorem 2 with a factor of 1 for both of its Theta terms: ceil(min(9 d ln(d), 5 ln(n)) / error^2).
// `d` is the number of columns of V. The result is at least 1.
int64_t theorem_2_k(int64_t n, int64_t d, double error);

struct ApproximationOptions {
  double error = 0.5;  // The allowed relative error, more than 0 and less than 1.
  int draws = 5;       // The number of random matrices R that are drawn for each attention matrix.
  uint64_t seed = 0;
};

// The approximation errors of one head. Element k - 1 of each array belongs to rank k. All numbers are sums while
// ErrorMeasure adds matrices, and means over the texts in the result of ApproximationSum::mean().
struct HeadApproximation {
  explicit HeadApproximation(int64_t n = 0);

  // The relative error ||P R^T R V - P V|| / ||P V|| in Frobenius norms. R is [k, n], and its entries are independent
  // normal numbers with mean 0 and variance 1/k, as in theorem 1.
  std::vector<double> projected;
  // The share of the columns w of V with ||P R^T R w - P w|| <= error ||P w||, which is the inequality of theorem 1.
  std::vector<double> columns_within;
  // The share of the rows p of P with ||p R^T R V - p V|| <= error ||p|| ||V||, which is the inequality of theorem 2.
  std::vector<double> rows_within;
  // The relative error ||P_k V - P V|| / ||P V||. P_k has the k largest singular values of P and zeros for the others,
  // which makes it the matrix of rank k that is nearest to P.
  std::vector<double> singular;
  // The value 1 + ||P||^2 ||V||^2 / ||P V||^2. Divided by k, it is the expected square of a random projection's error.
  double spread = 0;

  // Return the smallest k whose error is at most `error`, or nothing if the error is larger even with k = n.
  std::optional<int64_t> projected_k(double error) const;
  std::optional<int64_t> singular_k(double error) const;
  // Returns the k at which the root of the expected square of a random projection's error is `error`. It may be larger
  // than n. Returns nothing if P V is 0.
  std::optional<int64_t> expected_k(double error) const;
};

// Writes rows [first, first + rows) of a matrix of independent standard normal numbers with `columns` columns to `out`.
// Each number depends only on `stream`, `columns`, its row and its column. The numbers come from SplitMix64 by the
// method of Box and Muller.
void fill_normal_rows(uint64_t stream, int64_t first, int64_t rows, int64_t columns, double* out);
// Returns the `stream` of fill_normal_rows() for a random matrix R. Each combination of a seed and a list of numbers
// has a stream of its own.
uint64_t random_stream(uint64_t seed, std::initializer_list<uint64_t> numbers);

// Measures the errors for the matrices of one head at a time. Each thread needs its own object, which reuses its
// memory.
class ErrorMeasure {
 public:
  explicit ErrorMeasure(const ApproximationOptions& options) : options_(options) {}
  // Adds the errors for the attention matrix p[n, n] and the values v[n, d], both row-major, to *sum. Draw i takes its
  // R from random_stream(stream, {i}). The R of rank k has the first k rows of one [n, n] matrix, scaled by 1/sqrt(k).
  void add(const std::vector<double>& p, const std::vector<double>& v, int64_t n, uint64_t stream,
           HeadApproximation* sum);

 private:
  void prepare(const std::vector<double>& p, const std::vector<double>& v, int64_t n);
  void add_svd_errors(const std::vector<double>& p, const std::vector<double>& v, int64_t n, HeadApproximation* sum);
  void add_random_draw(const std::vector<double>& p, const std::vector<double>& v, int64_t n, uint64_t stream,
                       HeadApproximation* sum);
  void add_rank_errors(int64_t k, const double* y, const double* z, int64_t n, HeadApproximation* sum);
  // Returns a Frobenius norm, given as its square, divided by the Frobenius norm of P V.
  double relative_norm(double square) const;

  const ApproximationOptions options_;
  int64_t d_ = 0;
  double context_square_ = 0;
  std::vector<double> context_;  // P V
  // The squares of the largest errors that satisfy theorem 1 for each column and theorem 2 for each row.
  std::vector<double> column_limits_, row_limits_;
  // The right singular vectors of P, LAPACK's work array, and the product of the singular vectors and V.
  std::vector<double> vectors_, work_, turned_;
  // A block of rows of sqrt(k) R, the products of these rows with P^T and with V, and k P R^T R V.
  std::vector<double> normal_, left_, right_, sum_;
  std::vector<double> columns_;  // The squares of the errors of the columns at one rank.
};

struct Approximation {
  int64_t rows = 0;   // The number n of rows of each attention matrix.
  int64_t width = 0;  // The number d of columns of a head's values, in the layer with the most.
  int64_t texts = 0;
  std::vector<std::vector<HeadApproximation>> layers;  // [layer][head]
};

// Measures the approximation errors of all heads of a model, and averages them over texts. The heads are divided among
// `threads` threads.
class ApproximationSum {
 public:
  ApproximationSum(const Model& model, int64_t rows, const ApproximationOptions& options, int threads);
  // Throws DataError if the text doesn't have `rows` rows. Calls `done` after each head.
  void add(Session* session, Tokens text, const HeadDone& done);
  size_t heads() const { return matrices_.total_heads(); }  // The number of calls of `done` in one add().
  // Returns the means over the texts that were added.
  Approximation mean() const;

 private:
  AttentionMatrices matrices_;
  ApproximationOptions options_;
  int threads_;
  Approximation sum_;
};

}  // namespace linformer::research
