// How many rows k a low-rank approximation of attention needs so that P V keeps a relative error: by the bounds of
// theorems 1 and 2 of Wang et al. 2020, by the random projections that their proofs draw, and by the singular value
// decomposition that the paper compares them with.
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

  // ||P R^T R V - P V|| / ||P V|| in Frobenius norms, R[k, n] with entries N(0, 1/k), as theorem 1 has it.
  std::vector<double> projected;
  // The share of the columns w of V with ||P R^T R w - P w|| <= error ||P w||, which theorem 1 is about.
  std::vector<double> columns_within;
  // The share of the rows p of P with ||p R^T R V - p V|| <= error ||p|| ||V||, which theorem 2 is about.
  std::vector<double> rows_within;
  // ||P_k V - P V|| / ||P V||, where P_k is P with its k largest singular values alone: no matrix of rank k is nearer
  // to P.
  std::vector<double> singular;
  // 1 + ||P||^2 ||V||^2 / ||P V||^2. The square of `projected` is this over k, in the mean over all R.
  double spread = 0;

  // The smallest k whose error is at most `error`; none where n is not enough.
  std::optional<int64_t> projected_k(double error) const;
  std::optional<int64_t> singular_k(double error) const;
  // The k at which the root of the mean square of the projection's error is `error`, more than n where n is not enough.
  // None where P V is 0.
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

// The approximation of texts of `rows` rows each, on `threads` threads.
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
