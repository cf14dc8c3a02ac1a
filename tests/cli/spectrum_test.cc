// Tests the numbers of `linformer spectrum`. Attention matrices are compared with the runtime's own attention, and
// singular values with those of another method.
#include "research/spectrum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/description.h"
#include "command_line/errors.h"
#include "research/spectrum_lapack.h"
#include "support/layer_flop.h"
#include "support/outputs.h"
#include "support/random_model.h"
#include "support/skip.h"

namespace linformer_test::spectrum_test {

using namespace linformer;
using namespace linformer::research;
using cli::check;
using cli::DataError;
using cli::value_or_throw;

namespace {

using Numbers = std::vector<double>;

// Returns the singular values by one-sided Jacobi rotations (Hestenes 1958). They make the columns orthogonal; the
// lengths of the columns are the singular values.
Numbers jacobi(Numbers a, int64_t n) {
  const auto at = [&](int64_t row, int64_t column) -> double& { return a[static_cast<size_t>(row * n + column)]; };
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (int64_t r = 0; r < n; ++r) {
          pp += at(r, p) * at(r, p);
          qq += at(r, q) * at(r, q);
          pq += at(r, p) * at(r, q);
        }
        if (std::abs(pq) <= 1e-15 * std::sqrt(pp * qq) || pq == 0) continue;
        off = std::max(off, std::abs(pq));
        const double zeta = (qq - pp) / (2 * pq);
        const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        for (int64_t r = 0; r < n; ++r) {
          const double left = at(r, p), right = at(r, q);
          at(r, p) = c * left - s * right;
          at(r, q) = s * left + c * right;
        }
      }
    }
    if (off == 0) break;
  }
  Numbers lengths(static_cast<size_t>(n));
  for (int64_t column = 0; column < n; ++column) {
    double sum = 0;
    for (int64_t r = 0; r < n; ++r) sum += at(r, column) * at(r, column);
    lengths[static_cast<size_t>(column)] = std::sqrt(sum);
  }
  std::sort(lengths.rbegin(), lengths.rend());
  return lengths;
}

double difference(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

Numbers values_of(Numbers matrix, int64_t n) {
  Numbers work;
  return singular_values(&matrix, n, &work);
}

bool skipped() {
  if (lapack_problem().empty()) return false;
  linformer_test::skip(lapack_problem());
  return true;
}

std::vector<RandomModel> shapes() {
  RandomModel plain;
  plain.n = 40;
  plain.kinds = {ProjectionKind::none};
  plain.head_classes = {};
  plain.masked_lm = false;
  plain.ffn = 0;
  plain.norms = false;
  std::vector<RandomModel> all(13, plain);
  all[1].pre_norm = all[1].norms = true;
  all[2].type = ElementType::f16;
  all[2].head_dim = 5;  // heads that begin inside a panel
  all[3].type = ElementType::bf16;
  all[3].linear_bias = false;
  all[4].causal = true;
  all[5].one_kv_head = true;
  all[6].residual = ResidualKind::reversible;
  all[6].pre_norm = all[6].norms = true;
  all[6].ffn = 24;  // the FFN adds to the second stream, attention to the first
  all[7].pad = false;
  all[7].prefix_token = true;
  all[8].layer.attention.rotary_base = 100;
  all[9].layer.attention.window = 5;
  all[10].layer.attention.window = 5;
  all[10].causal = true;
  all[11].position_bias = true;
  all[12] = all[10];
  all[12].position_bias = true;
  all[12].layer.attention.rotary_base = 500;
  all[12].prefix_token = true;
  for (size_t i = 0; i < all.size(); ++i) all[i].seed = i + 1;
  return all;
}

Session session_for(const std::shared_ptr<const Model>& model) {
  SessionOptions options;
  options.run.compute = Compute::f32;  // the matrices are computed from f32 rows, in double precision
  return value_or_throw(Session::create(model, options));
}

std::vector<float> hidden(Session* session, Tokens tokens, int layer) {
  const Tokens texts[] = {tokens};
  std::vector<float> rows = linformer_test::nan_buffer_for(*session, texts, Output::hidden({}, layer));
  check(session->run(texts, Output::hidden(rows, layer)));
  return rows;
}

struct Weight {
  Weight(const Model& model, const Linear& linear)
      : values(
            writer::decode(model.description().tensors[static_cast<size_t>(linear.weight)], model.data(linear.weight))),
        inputs(model.description().tensors[static_cast<size_t>(linear.weight)].shape[1]) {
    if (linear.bias != absent) {
      bias = writer::decode(model.description().tensors[static_cast<size_t>(linear.bias)], model.data(linear.bias));
    }
  }
  double apply(const double* x, size_t output) const {
    double sum = bias.empty() ? 0 : static_cast<double>(bias[output]);
    for (size_t i = 0; i < inputs; ++i) sum += static_cast<double>(values[output * inputs + i]) * x[i];
    return sum;
  }
  std::vector<float> values, bias;
  size_t inputs;
};

// Returns what the attention of layer `l` adds to its rows, computed from the attention matrices and the values.
Numbers attended(const Model& model, const AttentionMatrices& matrices, int l) {
  const AttentionDescription& attention = model.description().encoder.layers[static_cast<size_t>(l)].attention;
  const Weight output(model, attention.output);
  const size_t n = static_cast<size_t>(matrices.rows()), head_dim = static_cast<size_t>(matrices.value_width(l));
  const size_t width = attention.heads * head_dim, d = output.values.size() / width;
  Numbers context(n * width), result(n * d), matrix, values;
  AttentionMatrices::Scratch scratch;
  for (uint32_t h = 0; h < attention.heads; ++h) {
    matrices.matrix(l, static_cast<int>(h), &scratch, &matrix);
    matrices.values(l, static_cast<int>(h), &scratch, &values);
    REQUIRE(values.size() == n * head_dim);
    for (size_t j = 0; j < n; ++j) {
      for (size_t e = 0; e < head_dim; ++e) {
        const double v = values[j * head_dim + e];
        for (size_t i = 0; i < n; ++i) context[i * width + h * head_dim + e] += matrix[i * n + j] * v;
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t o = 0; o < d; ++o) result[i * d + o] = output.apply(context.data() + i * width, o);
  }
  return result;
}

}  // namespace

TEST_CASE("the singular values of known matrices are found" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  CHECK(difference(values_of({3, 0, 0, 0, -1, 0, 0, 0, 2}, 3), {3, 2, 1}) < 1e-14);
  CHECK(difference(values_of({0, 0, 1, 1, 0, 0, 0, 1, 0}, 3), {1, 1, 1}) < 1e-14);        // a permutation
  CHECK(difference(values_of(Numbers(64, 0.125), 8), {1, 0, 0, 0, 0, 0, 0, 0}) < 1e-14);  // uniform attention
  CHECK(difference(values_of({4, 0, 3, -5}, 2), {std::sqrt(40), std::sqrt(10)}) < 1e-14);
  CHECK(values_of({7}, 1) == Numbers{7});
  Numbers random(20 * 20);
  for (size_t i = 0; i < random.size(); ++i) random[i] = std::sin(static_cast<double>(i * i + 1));
  CHECK(difference(values_of(random, 20), jacobi(random, 20)) < 1e-12);
}

TEST_CASE("rank_for_share gives the smallest k that keeps a share") {
  const HeadSpectrum head{{2, 1, 1}, {0.5, 0.75, 1 - 1e-16}};
  CHECK(head.rank_for_share(0.001) == 1);
  CHECK(head.rank_for_share(0.5) == 1);
  CHECK(head.rank_for_share(0.51) == 2);
  CHECK(head.rank_for_share(0.76) == 3);
  CHECK(head.rank_for_share(1) == 3);  // although the last share was rounded to less than 1
  CHECK(head.share_at(2) == 0.75);
}

TEST_CASE("attention matrices and values are those that the runtime attends with" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  for (const RandomModel& shape : shapes()) {
    CAPTURE(shape.seed);
    const auto model = linformer_test::random_model(shape);
    Session session = session_for(model);
    const std::vector<int32_t> ids = linformer_test::random_ids(shape.seed, 31, shape.vocabulary);
    // All layers are read in one pass, or each in a pass of its own if the memory doesn't suffice for two.
    AttentionMatrices matrices(*model), narrow(*model, 1);
    matrices.run(&session, ids);
    narrow.run(&session, ids);
    CHECK(matrices.rows() == session.output_rows(31));
    CHECK(narrow.rows() == matrices.rows());
    const bool reversible = shape.residual == ResidualKind::reversible;
    const size_t d = shape.d_model, stride = reversible ? 2 * d : d;
    for (int l = 0; l < matrices.layers(); ++l) {
      CAPTURE(l);
      const std::vector<float> before = hidden(&session, ids, l), after = hidden(&session, ids, l + 1);
      Numbers added;
      for (size_t r = 0; r < static_cast<size_t>(matrices.rows()); ++r) {
        for (size_t i = 0; i < d; ++i) {
          added.push_back(static_cast<double>(after[r * stride + i]) - static_cast<double>(before[r * stride + i]));
        }
      }
      CHECK(difference(attended(*model, matrices, l), added) < 3e-5);
      CHECK(attended(*model, narrow, l) == attended(*model, matrices, l));
    }
  }
}

TEST_CASE("all layers of a text are read in one pass, or in groups that fit") {
  RandomModel shape = shapes()[0];
  shape.layers = 5;
  const auto model = linformer_test::random_model(shape);
  const std::vector<int32_t> ids = linformer_test::random_ids(1, 31, shape.vocabulary);
  SessionOptions options;
  options.profile = true;
  Session plain = value_or_throw(Session::create(model, options));
  const Tokens text = ids;
  check(plain.run({&text, 1}, {}));
  const double one_pass = linformer_test::first_layer_flop(plain);
  REQUIRE(one_pass > 0);
  const int64_t layer = 31 * int64_t{shape.d_model} * static_cast<int64_t>(sizeof(float));
  const auto passes = [&](int64_t bytes) {
    Session session = value_or_throw(Session::create(model, options));
    AttentionMatrices(*model, bytes).run(&session, ids);
    return linformer_test::first_layer_flop(session) / one_pass;
  };
  CHECK(passes(5 * layer) == doctest::Approx(1));
  CHECK(passes(5 * layer - 1) == doctest::Approx(2));
  CHECK(passes(2 * layer) == doctest::Approx(3));
  CHECK(passes(1) == doctest::Approx(5));
}

TEST_CASE("the spectrum of several texts is the mean of what another method gives, on any number of threads" *
          doctest::test_suite("lapack")) {
  if (skipped()) return;
  for (const RandomModel& shape : {shapes()[1], shapes()[4]}) {
    CAPTURE(shape.seed);
    const auto model = linformer_test::random_model(shape);
    Session session = session_for(model);
    const size_t n = 24;
    SpectrumSum sum(*model, n, 1), threaded(*model, n, 3);
    std::vector<std::vector<Numbers>> values(shape.layers, std::vector<Numbers>(shape.heads, Numbers(n)));
    std::vector<std::vector<Numbers>> shares = values;
    int calls = 0;
    for (uint64_t text = 0; text < 3; ++text) {
      const std::vector<int32_t> ids = linformer_test::random_ids(40 + text, n, shape.vocabulary);
      sum.add(&session, ids, [&] { ++calls; });
      threaded.add(&session, ids, [] {});
      AttentionMatrices matrices(*model);
      matrices.run(&session, ids);
      AttentionMatrices::Scratch scratch;
      Numbers matrix;
      for (uint32_t l = 0; l < shape.layers; ++l) {
        for (uint32_t h = 0; h < shape.heads; ++h) {
          matrices.matrix(static_cast<int>(l), static_cast<int>(h), &scratch, &matrix);
          for (size_t r = 0; r < n; ++r) {
            const double* row = matrix.data() + r * n;
            CHECK(std::accumulate(row, row + n, 0.0) == doctest::Approx(1).epsilon(1e-12));
            CHECK((!shape.causal || std::all_of(row + r + 1, row + n, [](double p) { return p == 0; })));
          }
          const Numbers found = jacobi(matrix, n);
          const double all = std::accumulate(found.begin(), found.end(), 0.0);
          double part = 0;
          for (size_t i = 0; i < n; ++i) {
            values[l][h][i] += found[i] / 3;
            shares[l][h][i] += (part += found[i]) / all / 3;
          }
        }
      }
    }
    const Spectrum mean = sum.mean(), other = threaded.mean();
    CHECK(calls == static_cast<int>(3 * mean.heads()));
    CHECK(mean.texts == 3);
    CHECK(mean.heads() == size_t{shape.layers} * shape.heads);
    for (uint32_t l = 0; l < shape.layers; ++l) {
      Numbers over_heads(n);
      for (uint32_t h = 0; h < shape.heads; ++h) {
        CHECK(difference(mean.layers[l][h].singular_values, values[l][h]) < 1e-11);
        CHECK(difference(mean.layers[l][h].share, shares[l][h]) < 1e-11);
        CHECK(mean.layers[l][h].singular_values == other.layers[l][h].singular_values);
        for (size_t i = 0; i < n; ++i) over_heads[i] += shares[l][h][i] / shape.heads;
      }
      CHECK(difference(mean.mean_share(l), over_heads) < 1e-11);
    }
    CHECK_THROWS_AS(sum.add(&session, linformer_test::random_ids(1, n - 1, shape.vocabulary), [] {}), DataError);
  }
}

TEST_CASE("a matrix that is not finite throws DataError" * doctest::test_suite("lapack")) {
  if (skipped()) return;
  RandomModel shape = shapes()[0];
  shape.embedding_scale = 1e25f;
  shape.embedding_norm = false;
  const auto model = linformer_test::random_model(shape);
  Session session = session_for(model);
  SpectrumSum sum(*model, 8, 2);
  CHECK_THROWS_AS(sum.add(&session, linformer_test::random_ids(1, 8, shape.vocabulary), [] {}), DataError);
}

}  // namespace linformer_test::spectrum_test
