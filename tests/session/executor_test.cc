// Compares random models of every supported shape on every engine with the double-precision reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include "base/description.h"
#include "session/reference.h"
#include "support/engines.h"
#include "support/random_model.h"

namespace linformer_test::executor_test {
namespace {

using namespace linformer;

RandomModel random_shape(std::mt19937_64& random) {
  const auto pick = [&](uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(random() % (high - low + 1));
  };
  RandomModel shape;
  shape.seed = random();
  shape.n = pick(3, 90);
  shape.k = pick(1, std::min(shape.n, 40u));
  shape.heads = pick(1, 5);
  shape.head_dim = pick(3, 21);
  shape.d_model = pick(2, 6) * 7;
  shape.ffn = pick(5, 90);
  shape.layers = pick(1, 3);
  shape.vocabulary = pick(10, 70);
  shape.shared_key_value = random() % 2;
  shape.shared_layers = random() % 2;
  shape.pre_norm = random() % 2;
  shape.order = random() % 2 ? ProjectionOrder::after_linear : ProjectionOrder::before_linear;
  shape.projection_bias = random() % 2;
  shape.linear_bias = random() % 4 != 0;
  shape.transform = random() % 3 == 0;
  shape.transform_before_norm = random() % 2;
  constexpr Activation activations[] = {Activation::gelu, Activation::relu, Activation::gelu_tanh,
                                        Activation::leaky_relu};
  shape.activation = activations[random() % 4];
  shape.head_classes = {pick(2, 5), pick(2, 20)};
  shape.tied_output = random() % 2;
  constexpr ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8};
  shape.type = types[random() % 4];
  return shape;
}

struct Texts {
  std::vector<std::vector<int32_t>> ids;
  std::vector<Tokens> spans() const { return {ids.begin(), ids.end()}; }
};

// Returns texts of the shortest, the longest and a random length, in which some tokens are padding.
Texts random_texts(std::mt19937_64& random, const RandomModel& shape) {
  Texts texts;
  for (int64_t length : {int64_t{1}, int64_t{shape.n}, static_cast<int64_t>(1 + random() % shape.n)}) {
    texts.ids.push_back(linformer_test::random_ids(random(), length, shape.vocabulary));
    for (size_t i = 1; i < texts.ids.back().size(); ++i) {
      if (random() % 8 == 0) texts.ids.back()[i] = 1;
    }
  }
  return texts;
}

double scaled_difference(const float* ours, const Matrix& theirs) {
  double worst = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    const double difference = std::abs(ours[i] - theirs[i]) / (1 + std::abs(theirs[i]));
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

// Returns |ours - theirs| / |theirs| with the Euclidean norm, for results whose intermediate values are rounded.
double relative_difference(const float* ours, const Matrix& theirs) {
  double difference = 0, length = 1e-30;
  for (size_t i = 0; i < theirs.size(); ++i) {
    difference += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
    length += theirs[i] * theirs[i];
  }
  return std::sqrt(difference / length);
}

// The outputs of the reference for some texts.
struct Expected {
  std::vector<std::vector<int32_t>> kept;
  std::vector<linformer_test::ReferenceOutputs> references;
  std::vector<MaskPosition> positions;  // The last token of each text.
};

Expected compute_expected(const Model& model, const Texts& texts, Padding padding) {
  Expected expected;
  for (const auto& text : texts.ids) {
    std::vector<int32_t>& kept = expected.kept.emplace_back();
    for (int32_t id : text) {
      if (id != 1 || padding == Padding::keep) kept.push_back(id);
    }
    expected.positions.push_back(
        {static_cast<int64_t>(expected.references.size()), static_cast<int64_t>(kept.size()) - 1});
    expected.references.push_back(linformer_test::reference_encode(model, kept));
  }
  return expected;
}

// The largest permitted difference to the reference, which multiplies the file's weights in double precision. It is
// larger and relative if intermediate values are rounded or quantised.
struct Bound {
  bool relative;
  double limit;
  double worst = 0;
  void check(const float* ours, const Matrix& theirs) {
    const double difference = relative ? relative_difference(ours, theirs) : scaled_difference(ours, theirs);
    CHECK(difference < limit);
    if (!(difference <= worst)) worst = difference;
  }
};
Bound bound_of(ElementType type, const Engine& engine, Compute compute) {
  if (engine.device >= 0 && compute != Compute::f32 && type != ElementType::f32) {
    return {true, type == ElementType::bf16 ? 0.04 : 0.01};
  }
  const bool narrow = engine.backend == BackendKind::native && compute != Compute::f32;
  if (narrow && type == ElementType::int8) return {true, 0.06};
  if (narrow && type == ElementType::bf16) return {true, 0.04};
  return {false, 5e-5};
}

// The largest relative difference for files of each type, from results whose intermediate values are rounded. The entry
// of f32 is the largest scaled difference of all other results, whatever the type of their file is.
using WorstByType = std::map<ElementType, double>;
void print(const WorstByType& worst) {
  std::printf("difference to double precision, worst:");
  for (const auto& [type, difference] : worst) std::printf(" %s %.2g", name_of(type), difference);
  std::printf("\n");
}

void compare(const std::shared_ptr<const Model>& model, const RandomModel& shape, const Engine& engine, Compute compute,
             const Texts& texts, const Expected& expected_outputs, Padding padding, int threads, WorstByType* worst) {
  CAPTURE(linformer_test::label_of(engine));
  CAPTURE(std::string(name_of(shape.type)));
  Bound bound = bound_of(shape.type, engine, compute);
  const size_t d = shape.d_model;
  const std::vector<Tokens> spans = texts.spans();
  SessionOptions options;
  options.memory.max_batch = static_cast<int64_t>(spans.size());
  options.cpu.threads = threads;
  options.cpu.backend = engine.backend;
  options.cpu.isa = engine.isa;
  options.cuda.device = engine.device;
  options.run.compute = compute;
  options.run.padding = padding;
  Result<Session> session = Session::create(model, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));

  size_t rows = 0;
  for (const auto& text : texts.ids) rows += text.size();
  const std::vector<std::vector<int32_t>>& kept = expected_outputs.kept;
  const std::vector<linformer_test::ReferenceOutputs>& references = expected_outputs.references;
  const std::vector<MaskPosition>& positions = expected_outputs.positions;

  for (int layer = -1; layer <= static_cast<int>(shape.layers); ++layer) {
    std::vector<float> hidden(rows * d, NAN), pooled(spans.size() * d, NAN);
    const Status status = session->run(spans, {Output::hidden(hidden, layer), Output::pooled(pooled)});
    REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
    const float* at = hidden.data();
    for (size_t t = 0; t < spans.size(); ++t) {
      const Matrix& expected = layer < 0 ? references[t].encoded : references[t].hidden[static_cast<size_t>(layer)];
      bound.check(at, expected);
      const float* rest = at + kept[t].size() * d;
      at += spans[t].size() * d;
      CHECK(std::all_of(rest, at, [](float value) { return value == 0; }));
      const Matrix first(references[t].encoded.begin(), references[t].encoded.begin() + static_cast<long>(d));
      bound.check(pooled.data() + t * d, first);
    }
  }
  for (size_t head = 0; head < shape.head_classes.size(); ++head) {
    const size_t classes = shape.head_classes[head];
    std::vector<float> logits(spans.size() * classes, NAN), probabilities(logits);
    const int index = static_cast<int>(head);
    REQUIRE(session->run(spans, {Output::logits(logits, index), Output::probabilities(probabilities, index)}).ok());
    for (size_t t = 0; t < spans.size(); ++t) {
      const Matrix expected = linformer_test::reference_logits(*model, references[t].encoded, index);
      bound.check(logits.data() + t * classes, expected);
      double sum = 0, exponentials = 0;
      for (size_t c = 0; c < classes; ++c) exponentials += std::exp(expected[c]);
      for (size_t c = 0; c < classes; ++c) {
        sum += probabilities[t * classes + c];
        if (!bound.relative)
          CHECK(std::abs(probabilities[t * classes + c] - std::exp(expected[c]) / exponentials) < bound.limit);
      }
      CHECK(std::abs(sum - 1) < 1e-5);
    }
  }
  std::vector<float> logits(positions.size() * shape.vocabulary, NAN);
  REQUIRE(session->run(spans, Output::masked_lm(logits, positions)).ok());
  for (size_t p = 0; p < positions.size(); ++p) {
    const Matrix expected = linformer_test::reference_mlm(*model, references[p].encoded, positions[p].position);
    bound.check(logits.data() + p * shape.vocabulary, expected);
  }
  double& slot = (*worst)[bound.relative ? shape.type : ElementType::f32];
  slot = std::max(slot, bound.worst);
}

#if defined(LINFORMER_TEST_DEVICE) && !defined(__SANITIZE_ADDRESS__)
constexpr int rounds = 400;
#else
constexpr int rounds = 40;  // The simulated device runs more rounds, but not under a sanitizer, where it is slow.
#endif

TEST_CASE("random models agree with the double-precision reference") {
  std::mt19937_64 random(20240607);
  WorstByType worst;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const RandomModel shape = random_shape(random);
    const auto model = linformer_test::random_model(shape);
    const Texts texts = random_texts(random, shape);
    const Padding padding = round % 2 ? Padding::keep : Padding::strip;
    const Expected expected = compute_expected(*model, texts, padding);
    for (const Engine& engine : linformer_test::engines()) {
      for (Compute compute : {Compute::automatic, Compute::f32, Compute::bf16}) {
        if (compute == Compute::bf16 && !linformer_test::is_bf16_off_by_default(engine)) continue;
        compare(model, shape, engine, compute, texts, expected, padding, 1 + round % 3, &worst);
      }
    }
  }
  print(worst);
}

// Texts of at most one row more than the window have full attention. The longer a text is, the more compressed rows
// take part.
TEST_CASE("a window beside compressed keys agrees with the double-precision reference at every length") {
  std::mt19937_64 random(20261201);
  const auto pick = [&](uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(random() % (high - low + 1));
  };
  constexpr ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::int8, ElementType::f16};
  WorstByType worst;
  for (uint32_t round = 0; round < 24; ++round) {
    CAPTURE(round);
    RandomModel shape = random_shape(random);
    shape.type = types[round % std::size(types)];
    shape.order = ProjectionOrder::after_linear;
    shape.n = pick(10, 160);
    shape.k = pick(2, 80);
    shape.layer.attention.window = pick(1, shape.n - 4);
    shape.position_bias = round / std::size(types) % 2 == 1;
    shape.span = round % 6 == 5 ? 0 : pick(1, shape.n);
    for (uint32_t i = pick(0, std::min(shape.k, 3u)); i > 0; --i) {
      shape.exact_tokens.push_back(pick(4, shape.vocabulary - 1));
    }
    const auto model = linformer_test::random_model(shape);
    const int64_t n = shape.n, window = shape.layer.attention.window;
    Texts texts;
    for (const int64_t length :
         {n, (window + 1) / 2, window + 1, window + 2, (window + 2 + n) / 2, int64_t{1}, n - 1}) {
      texts.ids.push_back(linformer_test::random_ids(random(), length, shape.vocabulary));
    }
    const Expected expected = compute_expected(*model, texts, Padding::strip);
    for (const Engine& engine : linformer_test::engines()) {
      for (Compute compute : {Compute::automatic, Compute::f32, Compute::bf16}) {
        if (compute == Compute::bf16 && !linformer_test::is_bf16_off_by_default(engine)) continue;
        compare(model, shape, engine, compute, texts, expected, Padding::strip, 1 + static_cast<int>(round % 3),
                &worst);
      }
    }
  }
  print(worst);
}

TEST_CASE("several row blocks, column chunks and panels agree with the reference" * doctest::test_suite("long")) {
  RandomModel shape;
  shape.seed = 5;
  shape.n = 400;
  shape.k = 70;
  shape.d_model = 200;
  shape.heads = 5;
  shape.ffn = 300;
  shape.vocabulary = 300;
  std::mt19937_64 random(99);
  WorstByType worst;
  [[maybe_unused]] size_t number = 0;
  for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::int8}) {
    shape.type = type;
    shape.shared_key_value = type != ElementType::f32;
    const auto model = linformer_test::random_model(shape);
    const Texts texts = random_texts(random, shape);
    const Expected expected = compute_expected(*model, texts, Padding::strip);
    const std::vector<Engine> engines = linformer_test::engines();
    for (const Engine& engine : engines) {
#if defined(__SANITIZE_ADDRESS__)
      // Each engine runs with one of the types, because all of them would take minutes.
      if (engines.size() > 1 && number++ % 4 != 0) continue;
#endif
      compare(model, shape, engine, Compute::automatic, texts, expected, Padding::strip, 2, &worst);
    }
  }
  print(worst);
}

}  // namespace

}  // namespace linformer_test::executor_test
