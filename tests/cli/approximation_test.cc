// Tests the numbers of `linformer spectrum --error`. The errors of low-rank approximations are compared with their
// definitions, which are written here as loops over full matrices.
#include "research/approximation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "command_line/errors.h"
#include "research/approximation_report.h"
#include "research/spectrum_lapack.h"
#include "support/random_model.h"
#include "support/skip.h"

namespace linformer_test::approximation_test {

using namespace linformer;
using namespace linformer::research;
using Numbers = std::vector<double>;
using K = std::optional<int64_t>;

namespace {

bool skipped() {
  if (lapack_problem().empty()) return false;
  linformer_test::skip(lapack_problem());
  return true;
}

// Returns the matrix product of a[m, k] and b[k, n].
Numbers product(const Numbers& a, const Numbers& b, size_t m, size_t k, size_t n) {
  Numbers c(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t l = 0; l < k; ++l) {
      for (size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  return c;
}

Numbers transposed(const Numbers& a, size_t rows, size_t columns) {
  Numbers out(a.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) out[j * rows + i] = a[i * columns + j];
  }
  return out;
}

double norm(const Numbers& a) { return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0)); }

Numbers minus(const Numbers& a, const Numbers& b) {
  Numbers c(a.size());
  for (size_t i = 0; i < a.size(); ++i) c[i] = a[i] - b[i];
  return c;
}

Numbers row_of(const Numbers& a, size_t row, size_t columns) {
  return {a.begin() + static_cast<std::ptrdiff_t>(row * columns),
          a.begin() + static_cast<std::ptrdiff_t>((row + 1) * columns)};
}

// Computes a singular value decomposition with one-sided Jacobi rotations. Afterwards `a` holds U S, whose columns are
// orthogonal and in no particular order, and `w` holds W, so that the given matrix is U S W^T.
void decompose(Numbers* a, Numbers* w, size_t n) {
  w->assign(n * n, 0);
  for (size_t i = 0; i < n; ++i) (*w)[i * n + i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (size_t r = 0; r < n; ++r) {
          pp += (*a)[r * n + p] * (*a)[r * n + p];
          qq += (*a)[r * n + q] * (*a)[r * n + q];
          pq += (*a)[r * n + p] * (*a)[r * n + q];
        }
        if (std::abs(pq) <= 1e-16 * std::sqrt(pp * qq) || pq == 0) continue;
        const double zeta = (qq - pp) / (2 * pq);
        const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        for (Numbers* turned : {a, w}) {
          for (size_t r = 0; r < n; ++r) {
            const double left = (*turned)[r * n + p], right = (*turned)[r * n + q];
            (*turned)[r * n + p] = c * left - s * right;
            (*turned)[r * n + q] = s * left + c * right;
          }
        }
      }
    }
  }
}

// Returns for each k the relative error of P_k V, where P_k keeps the k largest singular values of P. Each P_k is
// computed as a full matrix.
Numbers singular_errors(const Numbers& p, const Numbers& v, size_t n) {
  const size_t d = v.size() / n;
  Numbers scaled = p, turns;
  decompose(&scaled, &turns, n);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  const Numbers columns = transposed(scaled, n, n);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return norm(row_of(columns, a, n)) > norm(row_of(columns, b, n)); });
  const Numbers context = product(p, v, n, n, d);
  Numbers low(n * n), errors;
  for (const size_t i : order) {
    for (size_t r = 0; r < n; ++r) {
      for (size_t c = 0; c < n; ++c) low[r * n + c] += scaled[r * n + i] * turns[c * n + i];
    }
    errors.push_back(norm(minus(product(low, v, n, n, d), context)) / norm(context));
  }
  return errors;
}

struct Projected {
  double error, columns_within, rows_within;
};

// Returns the relative error of P R^T R V for a random projection R of k rows, and the shares of columns and of rows
// whose errors are within the bounds of theorem 1 and theorem 2 for `error`. `r` begins with the rows of R, before they
// are divided by the square root of k.
Projected projected(const Numbers& p, const Numbers& v, size_t n, Numbers r, size_t k, double error) {
  const size_t d = v.size() / n;
  r.resize(k * n);
  for (double& value : r) value /= std::sqrt(static_cast<double>(k));
  const Numbers context = product(p, v, n, n, d);
  const Numbers found = product(product(p, transposed(r, k, n), n, n, k), product(r, v, k, n, d), n, k, d);
  const Numbers off = minus(found, context);
  const Numbers off_columns = transposed(off, n, d), context_columns = transposed(context, n, d);
  Projected out{norm(off) / norm(context), 0, 0};
  for (size_t j = 0; j < d; ++j) {
    if (norm(row_of(off_columns, j, n)) <= error * norm(row_of(context_columns, j, n))) {
      out.columns_within += 1 / static_cast<double>(d);
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (norm(row_of(off, i, d)) <= error * norm(row_of(p, i, n)) * norm(v)) {
      out.rows_within += 1 / static_cast<double>(n);
    }
  }
  return out;
}

Numbers random_numbers(uint64_t stream, size_t rows, size_t columns) {
  Numbers out(rows * columns);
  fill_normal_rows(stream, 0, static_cast<int64_t>(rows), static_cast<int64_t>(columns), out.data());
  return out;
}

// Returns a random n x n matrix whose rows sum to 1, as the rows of attention weights do.
Numbers random_attention(uint64_t stream, size_t n) {
  Numbers p = random_numbers(stream, n, n);
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (size_t j = 0; j < n; ++j) sum += p[i * n + j] = std::exp(2 * p[i * n + j]);
    for (size_t j = 0; j < n; ++j) p[i * n + j] /= sum;
  }
  return p;
}

HeadApproximation measured(const Numbers& p, const Numbers& v, size_t n, const ApproximationOptions& options,
                           uint64_t stream = 3) {
  const OneBlasThread one;
  HeadApproximation sum(static_cast<int64_t>(n));
  ErrorMeasure(options).add(p, v, static_cast<int64_t>(n), stream, &sum);
  return sum;
}

void check_near(const Numbers& found, const Numbers& wanted, double most) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - wanted[i]) <= most);
  }
}

// Returns a head whose error reaches 0.5 at rank `projected` for random projections, and falls to 0.4 at rank
// `singular` for truncated singular values. A rank above n is never reached.
HeadApproximation head_with(int64_t n, int64_t projected, int64_t singular, double spread) {
  HeadApproximation head(n);
  for (int64_t k = 1; k <= n; ++k) {
    const size_t place = static_cast<size_t>(k - 1);
    head.projected[place] = k < projected ? 0.9 : 0.5;
    head.singular[place] = k < singular ? 0.9 : 0.4;
    head.columns_within[place] = head.rows_within[place] = static_cast<double>(k) / static_cast<double>(n);
  }
  head.spread = spread;
  return head;
}

}  // namespace

TEST_CASE("the k of theorems 1 and 2 equals values worked out by hand") {
  // 5 * 6.238325 / 0.125 = 249.5, 5 * 4.852030 / 0.125 = 194.1, 5 * 6.238325 / 0.009 = 3465.7
  CHECK(theorem_1_k(512, 0.5) == 250);
  CHECK(theorem_1_k(128, 0.5) == 195);
  CHECK(theorem_1_k(512, 0.1) == 3466);
  CHECK(theorem_1_k(1, 0.5) == 1);
  // The bound from n is 5 * 6.238325 / 0.25 = 124.8, and the bound from d = 64 is 9 * 64 * 4.158883 / 0.25 = 9582.1.
  // The smaller bound counts.
  CHECK(theorem_2_k(512, 64, 0.5) == 125);
  // Here the smaller bound is that from d, 9 * 2 * 0.693147 / 0.25 = 49.9, so that k doesn't grow with n.
  CHECK(theorem_2_k(512, 2, 0.5) == 50);
  CHECK(theorem_2_k(16384, 2, 0.5) == 50);
  CHECK(theorem_2_k(512, 1, 0.5) == 1);
  // The result doesn't overflow for the smallest and the largest error that the command accepts.
  CHECK(theorem_1_k(16384, 1e-5) > int64_t{400'000'000'000});
  CHECK(theorem_1_k(16384, std::nextafter(1.0, 0.0)) > int64_t{400'000'000'000'000'000});
}

TEST_CASE("normal numbers depend only on the stream and on their place") {
  // These numbers were computed with Python's integers and math library from the description in the header.
  const Numbers wanted = {0.6020658268723165, -1.3178416122258019, 1.5602231273902063,
                          0.7760713603484151, 0.15038248653754205, -0.4153492089363729};
  check_near(random_numbers(1234567, 2, 3), wanted, 1e-14);
  CHECK(random_stream(7, {512, 0, 1, 2}) == 14212320654926084582u);
  CHECK(random_stream(7, {512, 0, 1, 3}) != random_stream(7, {512, 0, 1, 2}));
  CHECK(random_stream(7, {1, 0}) != random_stream(7, {0, 1}));

  const Numbers all = random_numbers(9, 7, 5);
  CHECK(random_numbers(9, 7, 5) == all);
  CHECK(random_numbers(10, 7, 5) != all);
  Numbers part(2 * 5);
  fill_normal_rows(9, 3, 2, 5, part.data());
  CHECK(std::equal(part.begin(), part.end(), all.begin() + 3 * 5));

  const Numbers many = random_numbers(4, 400, 500);
  double moments[5] = {};
  for (const double x : many) {
    for (int i = 1; i < 5; ++i) moments[i] += std::pow(x, i) / static_cast<double>(many.size());
  }
  CHECK(std::abs(moments[1]) < 0.01);
  CHECK(std::abs(moments[2] - 1) < 0.02);
  CHECK(std::abs(moments[3]) < 0.03);
  CHECK(std::abs(moments[4] - 3) < 0.1);
}

TEST_CASE("singular: a matrix of known rank has its exact k" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  // P has the singular values 8, 4, 2 and 1, each in a row and a column of its own, and V is the identity. The relative
  // error that remains with 1, 2, 3 and 4 of them is sqrt(21 / 85), sqrt(5 / 85), sqrt(1 / 85) and 0.
  const size_t n = 12;
  Numbers p(n * n), v(n * n);
  for (size_t i = 0; i < 4; ++i) p[(3 * i) * n + (n - 1 - i)] = std::pow(2, 3 - static_cast<double>(i));
  for (size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  const HeadApproximation head = measured(p, v, n, {0.5, 1, 0});
  Numbers wanted(n);
  for (size_t i = 0; i < 3; ++i) wanted[i] = std::sqrt((i == 0 ? 21. : i == 1 ? 5. : 1.) / 85);
  check_near(head.singular, wanted, 1e-14);
  CHECK(head.singular.back() == 0);
  for (const auto& [error, k] :
       {std::pair{0.6, 1}, {0.498, 1}, {0.496, 2}, {0.243, 2}, {0.242, 3}, {0.109, 3}, {0.108, 4}, {1e-5, 4}}) {
    CAPTURE(error);
    CHECK(head.singular_k(error) == K(k));
  }

  // Uniform attention has rank 1.
  const Numbers uniform(n * n, 1.0 / static_cast<double>(n)), values = random_numbers(2, n, 5);
  CHECK(measured(uniform, values, n, {0.5, 1, 0}).singular_k(1e-5) == K(1));
  // A matrix that repeats three rows has rank 3.
  Numbers three = random_attention(3, n);
  for (size_t i = 3; i < n; ++i) {
    std::copy_n(three.begin() + static_cast<std::ptrdiff_t>(i % 3 * n), n,
                three.begin() + static_cast<std::ptrdiff_t>(i * n));
  }
  CHECK(measured(three, values, n, {0.5, 1, 0}).singular_k(1e-5) == K(3));
}

TEST_CASE("singular: errors equal those of the full matrices of rank k" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  for (const size_t d : {1, 3, 8, 20}) {
    CAPTURE(d);
    const size_t n = 17;
    const Numbers p = random_attention(11, n), v = random_numbers(12 + d, n, d);
    check_near(measured(p, v, n, {0.5, 1, 0}).singular, singular_errors(p, v, n), 1e-7);
  }
}

TEST_CASE("projected: errors and shares equal the definition's, averaged over the draws" *
          doctest::test_suite("lapack")) {
  if (skipped()) return;
  // n is larger than the number of rows that are computed together. The values of d are below, equal to and no multiple
  // of the number of columns that are summed together.
  const size_t n = 37;
  for (const size_t d : {1, 5, 8, 19}) {
    for (const int draws : {1, 3}) {
      CAPTURE(d);
      CAPTURE(draws);
      const double error = 0.8;
      const Numbers p = random_attention(21, n), v = random_numbers(22, n, d);
      const HeadApproximation head = measured(p, v, n, {error, draws, 0}, 5);
      Numbers errors(n), columns(n), rows(n);
      for (int draw = 0; draw < draws; ++draw) {
        const Numbers r = random_numbers(random_stream(5, {static_cast<uint64_t>(draw)}), n, n);
        for (size_t k = 1; k <= n; ++k) {
          const Projected wanted = projected(p, v, n, r, k, error);
          errors[k - 1] += wanted.error / draws;
          columns[k - 1] += wanted.columns_within / draws;
          rows[k - 1] += wanted.rows_within / draws;
        }
      }
      check_near(head.projected, errors, 1e-11);
      check_near(head.columns_within, columns, 1e-11);
      check_near(head.rows_within, rows, 1e-11);
      CHECK(*std::max_element(rows.begin(), rows.end()) > *std::min_element(rows.begin(), rows.end()));
      const Numbers context = product(p, v, n, n, d);
      CHECK(head.spread == doctest::Approx(1 + std::pow(norm(p) * norm(v) / norm(context), 2)));
    }
  }
}

TEST_CASE("expected: the projection's mean square error is the spread divided by k" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const size_t n = 6;
  const Numbers p = random_attention(31, n), v = random_numbers(32, n, 2);
  Numbers squares(n);
  double spread = 0;
  const int times = 20000;
  for (uint64_t stream = 0; stream < times; ++stream) {
    const HeadApproximation head = measured(p, v, n, {0.5, 1, 0}, stream);
    for (size_t i = 0; i < n; ++i) squares[i] += head.projected[i] * head.projected[i] / times;
    spread = head.spread;
  }
  for (size_t i = 0; i < n; ++i)
    CHECK(squares[i] * static_cast<double>(i + 1) == doctest::Approx(spread).epsilon(0.06));
  HeadApproximation head(1);
  head.spread = 3;
  CHECK(head.expected_k(0.5) == K(12));
  CHECK(head.expected_k(0.1) == K(300));
  head.spread = std::numeric_limits<double>::infinity();
  CHECK(head.expected_k(0.5) == K());
  head.spread = std::numeric_limits<double>::quiet_NaN();
  CHECK(head.expected_k(0.5) == K());
}

TEST_CASE("a head has no k if even a projection of n rows has a larger error" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  const size_t n = 20;
  Numbers identity(n * n);
  for (size_t i = 0; i < n; ++i) identity[i * n + i] = 1;
  const HeadApproximation each_itself = measured(identity, random_numbers(1, n, 4), n, {0.5, 5, 0});
  CHECK(each_itself.projected_k(0.5) == K());
  CHECK(each_itself.projected_k(0.99) == K());
  CHECK(each_itself.spread == doctest::Approx(1 + 20));
  CHECK(each_itself.singular_k(1e-5) == K(20));
  // Values that are all 0 have no error at any k.
  const HeadApproximation nothing = measured(identity, Numbers(n * 4), n, {0.5, 5, 0});
  CHECK(nothing.projected_k(1e-5) == K(1));
  CHECK(nothing.singular_k(1e-5) == K(1));
  CHECK(nothing.expected_k(0.5) == K());
  CHECK(nothing.columns_within[0] == doctest::Approx(1));
}

TEST_CASE("the approximation of several texts is, for each head, the mean over the texts, on any number of threads" *
          doctest::test_suite("lapack")) {
  if (skipped()) return;
  RandomModel shape;
  shape.n = 24;
  shape.kinds = {ProjectionKind::none};
  shape.head_classes = {};
  shape.masked_lm = false;
  shape.one_kv_head = true;
  const auto model = linformer_test::random_model(shape);
  SessionOptions session_options;
  session_options.run.compute = Compute::f32;
  Session session = cli::value_or_throw(Session::create(model, session_options));
  const size_t n = 19;
  const ApproximationOptions options{0.6, 2, 77};
  ApproximationSum sum(*model, n, options, 1), threaded(*model, n, options, 3), other(*model, n, {0.6, 2, 78}, 1);
  std::vector<std::vector<HeadApproximation>> wanted(shape.layers,
                                                     {shape.heads, HeadApproximation(static_cast<int64_t>(n))});
  size_t calls = 0;
  for (uint64_t text = 0; text < 2; ++text) {
    const std::vector<int32_t> ids = linformer_test::random_ids(50 + text, n, shape.vocabulary);
    sum.add(&session, ids, [&] { ++calls; });
    threaded.add(&session, ids, [] {});
    other.add(&session, ids, [] {});
    AttentionMatrices matrices(*model);
    matrices.run(&session, ids);
    AttentionMatrices::Scratch scratch;
    Numbers p, v;
    for (size_t l = 0; l < shape.layers; ++l) {
      for (size_t h = 0; h < shape.heads; ++h) {
        const OneBlasThread one;
        matrices.matrix(static_cast<int>(l), static_cast<int>(h), &scratch, &p);
        matrices.values(static_cast<int>(l), static_cast<int>(h), &scratch, &v);
        ErrorMeasure(options).add(p, v, n, random_stream(77, {n, text, l, h}), &wanted[l][h]);
      }
    }
  }
  const Approximation mean = sum.mean(), same = threaded.mean(), different = other.mean();
  CHECK(calls == 2 * sum.heads());
  CHECK(mean.texts == 2);
  CHECK(mean.rows == n);
  REQUIRE(mean.layers.size() == shape.layers);
  for (size_t l = 0; l < shape.layers; ++l) {
    REQUIRE(mean.layers[l].size() == shape.heads);
    for (size_t h = 0; h < shape.heads; ++h) {
      const HeadApproximation &found = mean.layers[l][h], &again = same.layers[l][h];
      for (auto values : {&HeadApproximation::projected, &HeadApproximation::columns_within,
                          &HeadApproximation::rows_within, &HeadApproximation::singular}) {
        Numbers half = wanted[l][h].*values;
        for (double& value : half) value /= 2;
        check_near(found.*values, half, 1e-12);
        CHECK(found.*values == again.*values);
      }
      CHECK(found.spread == again.spread);
      CHECK(found.singular == different.layers[l][h].singular);
      CHECK(found.projected != different.layers[l][h].projected);
    }
  }
  CHECK_THROWS_AS(sum.add(&session, linformer_test::random_ids(1, n - 1, shape.vocabulary), [] {}), cli::DataError);
}

TEST_CASE("enough_k gives the k that is enough for half of the heads and for all heads") {
  Approximation at;
  at.rows = 10;
  at.width = 2;
  at.texts = 1;
  at.layers = {{head_with(10, 4, 2, 2), head_with(10, 11, 3, 9)}, {head_with(10, 7, 1, 3), head_with(10, 9, 5, 4)}};
  const auto check_enough = [](const EnoughK& found, K half, K all) {
    CHECK(found.half == half);
    CHECK(found.all == all);
  };
  check_enough(enough_k(at, KindOfK::singular, 0.5), 2, 5);
  check_enough(enough_k(at, KindOfK::projected, 0.5), 7, {});
  check_enough(enough_k(at, KindOfK::expected, 0.5), 12, 36);
  check_enough(enough_k(at.layers[0], KindOfK::projected, 0.5), 4, {});
  check_enough(enough_k(at.layers[1], KindOfK::projected, 0.5), 7, 9);
  check_enough(enough_k({head_with(10, 11, 1, 1)}, KindOfK::projected, 0.5), {}, {});
  CHECK(*mean_at_rank(at, &HeadApproximation::columns_within, 4) == doctest::Approx(0.4));
  CHECK_FALSE(mean_at_rank(at, &HeadApproximation::columns_within, 11).has_value());

  const ApproximationReport report{{at}, {0.5, 5, 0}, "a.lnfr", "book.txt"};
  CHECK(describe_texts(report) == "1 text of 10 tokens (book.txt)");
  const nlohmann::ordered_json json = approximation_json(report)["lengths"][0];
  CHECK(json["theorem_1"]["k"] == 93);                   // 5 * 2.302585 / 0.125 = 92.1
  CHECK(json["theorem_1"]["columns_within"].is_null());  // k is more than n
  CHECK(json["theorem_2"]["k"] == 47);                   // 5 * 2.302585 / 0.25 = 46.1
  CHECK(json["projected"].dump() == R"({"half":7,"all":null})");
  CHECK(json["layers"][0]["heads"][1].dump() ==
        R"({"projected":null,"columns_within":null,"rows_within":null,"expected":36,"singular":3})");
  CHECK(json["layers"][1]["heads"][1]["columns_within"] == 0.9);
  CHECK(approximation_text(report).find(">10") != std::string::npos);
}

}  // namespace linformer_test::approximation_test
