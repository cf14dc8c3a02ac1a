// Computes the smallest rank k at which a low-rank approximation of attention has at most a given relative error in P
// V. There are three answers: the bounds of theorems 1 and 2 of Wang et al. 2020; the rank that random projections
// need, measured with random matrices as in the proofs; and the rank that the truncated singular value decomposition of
// P needs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "research/spectrum_attention.h"

namespace linformer::research {

// Theorem 1: ceil(5 ln(n) / (error^2 - error^3)), which is the k of its proof. At least 1.
int64_t theorem_1_k(int64_t n, double error);
// Theorem 2: ceil(min(9 d ln(d), 5 ln(n)) / error^2), which takes both of its Theta's as 1. At least 1. d: columns of
// V.
int64_t theorem_2_k(int64_t n, int64_t d, double error);

struct ApproximationOptions {
  double error = 0.5;  // more than 0, less than 1
  int draws = 5;       // of R for each matrix
  uint64_t seed = 0;
};

// Of one head. Element k - 1 of each array is for rank k; means over what was added.
struct HeadApproximation {
  explicit HeadApproximation(int64_t n = 0);

  // The relative error ||P R^T R V - P V|| / ||P V|| in Frobenius norms. R is [k, n], and its entries are independent
  // normal numbers with mean 0 and variance 1/k, as in theorem 1.
  std::vector<double> projected;
  // The share of the columns w of V with ||P R^T R w - P w|| <= error ||P w||, which theorem 1 is about.
  std::vector<double> columns_within;
  // The share of the rows p of P with ||p R^T R V - p V|| <= error ||p|| ||V||, which theorem 2 is about.
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

// Rows [first, first + rows) of a matrix of `columns` independent standard normal numbers a row, which depend on
// `stream` and their place alone: Box and Muller's method on SplitMix64.
void normal_rows(uint64_t stream, int64_t first, int64_t rows, int64_t columns, double* out);
// The stream of one R: each seed and each list of numbers has its own.
uint64_t stream_of(uint64_t seed, std::initializer_list<uint64_t> numbers);

// Adds the errors of matrices of one head. A thread has its own and reuses its memory.
class ErrorMeasure {
 public:
  explicit ErrorMeasure(const ApproximationOptions& options) : options_(options) {}
  // p[n, n], v[n, d], row-major. Draw i is of stream_of(stream, {i}); R's first k rows are those of every larger k,
  // but for the factor.
  void add(const std::vector<double>& p, const std::vector<double>& v, int64_t n, uint64_t stream,
           HeadApproximation* sum);

 private:
  void prepare(const std::vector<double>& p, const std::vector<double>& v, int64_t n);
  void add_singular(const std::vector<double>& p, const std::vector<double>& v, int64_t n, HeadApproximation* sum);
  void add_draw(const std::vector<double>& p, const std::vector<double>& v, int64_t n, uint64_t stream,
                HeadApproximation* sum);
  void add_rank(int64_t k, const double* y, const double* z, int64_t n, HeadApproximation* sum);
  // A Frobenius norm, given as its square, over that of P V.
  double relative(double square) const;

  const ApproximationOptions options_;
  int64_t d_ = 0;
  double context_square_ = 0;
  std::vector<double> context_;                      // P V
  std::vector<double> column_limits_, row_limits_;   // squares of the largest errors that are within
  std::vector<double> vectors_, work_, turned_;      // of the decomposition
  std::vector<double> normal_, left_, right_, sum_;  // rows of sqrt(k) R, those times P^T and V, and P R^T R V k
  std::vector<double> columns_;                      // squares of the errors of a rank's columns
};

struct Approximation {
  int64_t rows = 0;   // n
  int64_t width = 0;  // d: columns of a head's values, the most of any layer
  int64_t texts = 0;
  std::vector<std::vector<HeadApproximation>> layers;  // [layer][head]
};

// Measures the approximation errors of all heads of a model, and averages them over texts. Each text must have `rows`
// rows. The heads are divided among `threads` threads.
class ApproximationSum {
 public:
  ApproximationSum(const Model& model, int64_t rows, const ApproximationOptions& options, int threads);
  void add(Session* session, Tokens text, const HeadDone& done);
  size_t heads() const { return matrices_.all_heads(); }  // that add() goes through
  // The mean of what was added.
  Approximation mean() const;

 private:
  AttentionMatrices matrices_;
  ApproximationOptions options_;
  int threads_;
  Approximation sum_;
};

}  // namespace linformer::research
