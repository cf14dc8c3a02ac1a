#include "research/approximation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "command_line/errors.h"
#include "command_line/split_mix.h"
#include "research/spectrum_lapack.h"

namespace linformer::research {
namespace {

constexpr int64_t block_rows = 32;  // The number of rows of R in one matrix product.
constexpr int64_t lanes = 8;        // The number of independent sums, so that the compiler can vectorise the loop.

using cli::mix;

int64_t at_least_one(double k) { return std::max<int64_t>(static_cast<int64_t>(std::ceil(k)), 1); }

double square_of(const double* values, int64_t count) {
  return std::inner_product(values, values + count, values, 0.0);
}

std::optional<int64_t> smallest(const std::vector<double>& errors, double error) {
  const auto found = std::find_if(errors.begin(), errors.end(), [error](double each) { return each <= error; });
  if (found == errors.end()) return {};
  return found - errors.begin() + 1;
}

// Adds y z to one row of k P R^T R V, which is `sum`. Then adds the square of each element's error to `columns` and
// returns the sum of these squares.
double add_row(double y, const double* __restrict z, double factor, const double* __restrict context, int64_t d,
               double* __restrict sum, double* __restrict columns) {
  double squares[lanes] = {};
  const auto step = [&](int64_t j, int64_t lane) {
    sum[j] += y * z[j];
    const double difference = sum[j] * factor - context[j], square = difference * difference;
    squares[lane] += square;
    columns[j] += square;
  };
  int64_t j = 0;
  for (; j + lanes <= d; j += lanes) {
    for (int64_t lane = 0; lane < lanes; ++lane) step(j + lane, lane);
  }
  for (; j < d; ++j) step(j, 0);
  return std::accumulate(squares, squares + lanes, 0.0);
}

}  // namespace

int64_t theorem_1_k(int64_t n, double error) {
  return at_least_one(5 * std::log(static_cast<double>(n)) / (error * error * (1 - error)));
}

int64_t theorem_2_k(int64_t n, int64_t d, double error) {
  const double width = static_cast<double>(d);
  return at_least_one(std::min(9 * width * std::log(width), 5 * std::log(static_cast<double>(n))) / (error * error));
}

HeadApproximation::HeadApproximation(int64_t n)
    : projected(static_cast<size_t>(n)),
      columns_within(static_cast<size_t>(n)),
      rows_within(static_cast<size_t>(n)),
      singular(static_cast<size_t>(n)) {}

std::optional<int64_t> HeadApproximation::projected_k(double error) const { return smallest(projected, error); }
std::optional<int64_t> HeadApproximation::singular_k(double error) const { return smallest(singular, error); }

std::optional<int64_t> HeadApproximation::expected_k(double error) const {
  const double k = std::ceil(spread / (error * error));
  constexpr double most = 1e18;  // An int64_t can hold this number.
  if (!(k <= most)) return {};
  return static_cast<int64_t>(k);
}

void fill_normal_rows(uint64_t stream, int64_t first, int64_t rows, int64_t columns, double* out) {
  constexpr double unit = 0x1p-53;
  const uint64_t pairs = static_cast<uint64_t>(columns + 1) / 2;  // The number of pairs of columns in each row.
  for (int64_t r = 0; r < rows; ++r) {
    double* row = out + r * columns;
    for (int64_t c = 0; c < columns; c += 2) {
      const uint64_t place = 2 * (static_cast<uint64_t>(first + r) * pairs + static_cast<uint64_t>(c) / 2);
      // The 1 is added because the logarithm of 0 is infinite.
      const double uniform = static_cast<double>((mix(stream + place) >> 11) + 1) * unit;
      const double turn = static_cast<double>(mix(stream + place + 1) >> 11) * unit;
      const double radius = std::sqrt(-2 * std::log(uniform)), angle = 2 * std::numbers::pi * turn;
      row[c] = radius * std::cos(angle);
      if (c + 1 < columns) row[c + 1] = radius * std::sin(angle);
    }
  }
}

uint64_t random_stream(uint64_t seed, std::initializer_list<uint64_t> numbers) {
  uint64_t stream = mix(seed);
  for (const uint64_t number : numbers) stream = mix(stream ^ mix(number));
  return stream;
}

double ErrorMeasure::relative_norm(double square) const {
  if (context_square_ > 0) return std::sqrt(square / context_square_);
  return square > 0 ? std::numeric_limits<double>::infinity() : 0;
}

void ErrorMeasure::prepare(const std::vector<double>& p, const std::vector<double>& v, int64_t n) {
  d_ = static_cast<int64_t>(v.size()) / n;
  context_.resize(v.size());
  multiply(n, d_, n, 1, p.data(), v.data(), false, context_.data());
  const double error_square = options_.error * options_.error, v_square = square_of(v.data(), n * d_);
  column_limits_.assign(static_cast<size_t>(d_), 0);
  row_limits_.resize(static_cast<size_t>(n));
  for (int64_t r = 0; r < n; ++r) {
    const double* row = context_.data() + r * d_;
    for (int64_t j = 0; j < d_; ++j) column_limits_[static_cast<size_t>(j)] += row[j] * row[j];
    row_limits_[static_cast<size_t>(r)] = error_square * square_of(p.data() + r * n, n) * v_square;
  }
  context_square_ = std::accumulate(column_limits_.begin(), column_limits_.end(), 0.0);
  for (double& limit : column_limits_) limit *= error_square;
}

void ErrorMeasure::add(const std::vector<double>& p, const std::vector<double>& v, int64_t n, uint64_t stream,
                       HeadApproximation* sum) {
  prepare(p, v, n);
  sum->spread += 1 + square_of(p.data(), n * n) * square_of(v.data(), n * d_) / context_square_;
  add_svd_errors(p, v, n, sum);
  for (int draw = 0; draw < options_.draws; ++draw) {
    add_random_draw(p, v, n, random_stream(stream, {static_cast<uint64_t>(draw)}), sum);
  }
}

// With P = U S W^T, P V is the sum of the terms u_i s_i (w_i^T V), which are orthogonal. If P_k leaves out some
// singular values, the square of ||P_k V - P V|| is therefore the sum of s_i^2 ||w_i^T V||^2 over these values.
void ErrorMeasure::add_svd_errors(const std::vector<double>& p, const std::vector<double>& v, int64_t n,
                                  HeadApproximation* sum) {
  const std::vector<double> squares = right_singular_vectors(p, n, &vectors_, &work_);
  turned_.resize(v.size());
  multiply(n, d_, n, 1, vectors_.data(), v.data(), false, turned_.data());
  double left_out = 0;  // The square of the error of rank n - i.
  for (int64_t i = 0; i < n; ++i) {
    sum->singular[static_cast<size_t>(n - i - 1)] += relative_norm(left_out);
    left_out += squares[static_cast<size_t>(i)] * square_of(turned_.data() + i * d_, d_);
  }
}

void ErrorMeasure::add_random_draw(const std::vector<double>& p, const std::vector<double>& v, int64_t n,
                                   uint64_t stream, HeadApproximation* sum) {
  sum_.assign(v.size(), 0);
  columns_.resize(static_cast<size_t>(d_));
  normal_.resize(static_cast<size_t>(block_rows * n));
  left_.resize(normal_.size());
  right_.resize(static_cast<size_t>(block_rows * d_));
  for (int64_t first = 0; first < n; first += block_rows) {
    const int64_t rows = std::min(block_rows, n - first);
    fill_normal_rows(stream, first, rows, n, normal_.data());
    multiply(rows, n, n, 1, normal_.data(), p.data(), true, left_.data());
    multiply(rows, d_, n, 1, normal_.data(), v.data(), false, right_.data());
    for (int64_t i = 0; i < rows; ++i) {
      add_rank_errors(first + i + 1, left_.data() + i * n, right_.data() + i * d_, n, sum);
    }
  }
}

// Adds row k of R to k P R^T R V, and the errors of rank k to *sum. With this row r, y = P r and z = r V. `y` and `z`
// don't contain the factor 1/sqrt(k) of R.
void ErrorMeasure::add_rank_errors(int64_t k, const double* y, const double* z, int64_t n, HeadApproximation* sum) {
  std::fill(columns_.begin(), columns_.end(), 0.0);
  const double factor = 1 / static_cast<double>(k), draws = static_cast<double>(options_.draws);
  int64_t rows_within = 0, columns_within = 0;
  for (int64_t r = 0; r < n; ++r) {
    const double square = add_row(y[r], z, factor, context_.data() + r * d_, d_, sum_.data() + r * d_, columns_.data());
    if (square <= row_limits_[static_cast<size_t>(r)]) ++rows_within;
  }
  double square = 0;
  for (int64_t j = 0; j < d_; ++j) {
    const double column = columns_[static_cast<size_t>(j)];
    square += column;
    if (column <= column_limits_[static_cast<size_t>(j)]) ++columns_within;
  }
  const size_t place = static_cast<size_t>(k - 1);
  sum->projected[place] += relative_norm(square) / draws;
  sum->columns_within[place] += static_cast<double>(columns_within) / static_cast<double>(d_) / draws;
  sum->rows_within[place] += static_cast<double>(rows_within) / static_cast<double>(n) / draws;
}

ApproximationSum::ApproximationSum(const Model& model, int64_t rows, const ApproximationOptions& options, int threads)
    : matrices_(model), options_(options) {
  threads_ = lapack_threads(std::clamp(threads, 1, static_cast<int>(matrices_.total_heads())));
  sum_.rows = rows;
  for (int l = 0; l < matrices_.layers(); ++l) {
    sum_.layers.emplace_back(static_cast<size_t>(matrices_.heads(l)), HeadApproximation(rows));
    sum_.width = std::max(sum_.width, matrices_.value_width(l));
  }
}

void ApproximationSum::add(Session* session, Tokens text, const HeadDone& done) {
  matrices_.run(session, text);
  if (matrices_.rows() != sum_.rows) {
    throw cli::DataError("a text has " + std::to_string(matrices_.rows()) + " rows, but all texts must have " +
                         std::to_string(sum_.rows));
  }
  const auto make_task = [&]() -> HeadTask {
    return [this, scratch = AttentionMatrices::Scratch(), p = std::vector<double>(), v = std::vector<double>(),
            measure = ErrorMeasure(options_)](size_t layer, size_t head) mutable {
      matrices_.matrix(static_cast<int>(layer), static_cast<int>(head), &scratch, &p);
      matrices_.values(static_cast<int>(layer), static_cast<int>(head), &scratch, &v);
      const uint64_t stream = random_stream(
          options_.seed, {static_cast<uint64_t>(sum_.rows), static_cast<uint64_t>(sum_.texts), layer, head});
      measure.add(p, v, sum_.rows, stream, &sum_.layers[layer][head]);
    };
  };
  matrices_.for_each_head(threads_, make_task, done);
  ++sum_.texts;
}

Approximation ApproximationSum::mean() const {
  Approximation mean = sum_;
  const double texts = static_cast<double>(sum_.texts);
  for (auto& layer : mean.layers) {
    for (HeadApproximation& head : layer) {
      for (auto* values : {&head.projected, &head.columns_within, &head.rows_within, &head.singular}) {
        for (double& value : *values) value /= texts;
      }
      head.spread /= texts;
    }
  }
  return mean;
}

}  // namespace linformer::research
