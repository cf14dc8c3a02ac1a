// Tests sessions on a simulated or real device: shared weights, memory, precisions and refused models.
#include "linformer/session.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "base/description.h"
#include "cuda/grid.h"
#include "support/engines.h"
#include "support/outputs.h"
#include "support/random_model.h"

namespace linformer_test::session_test {
namespace {

using namespace linformer;

SessionOptions on_device() {
  SessionOptions options;
  options.cuda.device = 0;
  options.memory.max_batch = 4;
  return options;
}

Session created(const std::shared_ptr<const PreparedWeights>& weights, const SessionOptions& options) {
  Result<Session> session = Session::create(weights, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
  return std::move(session.value());
}

std::shared_ptr<const PreparedWeights> prepared(const std::shared_ptr<const Model>& model) {
  auto weights = PreparedWeights::create(model);
  REQUIRE(weights.ok());
  return *weights;
}

struct Answer {
  std::vector<float> hidden, logits, probabilities, mlm;
  bool operator==(const Answer& other) const {
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    return same(hidden, other.hidden) && same(logits, other.logits) && same(probabilities, other.probabilities) &&
           same(mlm, other.mlm);
  }
};

Answer run(Session& session, const std::vector<std::vector<int32_t>>& texts, uint32_t vocabulary) {
  const std::vector<Tokens> spans(texts.begin(), texts.end());
  std::vector<MaskPosition> positions;
  for (size_t t = 0; t < texts.size(); ++t) {
    const int64_t length = static_cast<int64_t>(texts[t].size());
    for (int64_t i = 0; i < length; ++i) positions.push_back({static_cast<int64_t>(t), i});
  }
  Answer answer;
  answer.hidden = linformer_test::nan_buffer_for(session, spans, Output::hidden({}));
  answer.logits.assign(texts.size() * 3, NAN);
  answer.probabilities = answer.logits;
  answer.mlm.assign(positions.size() * vocabulary, NAN);
  const Status status =
      session.run(spans, {Output::hidden(answer.hidden), Output::logits(answer.logits),
                          Output::probabilities(answer.probabilities), Output::masked_lm(answer.mlm, positions)});
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  for (const std::vector<float>* part : {&answer.hidden, &answer.logits, &answer.probabilities, &answer.mlm}) {
    for (float value : *part) REQUIRE(std::isfinite(value));
  }
  return answer;
}

std::vector<std::vector<int32_t>> texts_of(const RandomModel& shape) {
  std::vector<std::vector<int32_t>> texts;
  for (int64_t length : {40, 3, 17, 48}) {
    texts.push_back(linformer_test::random_ids(static_cast<uint64_t>(length), length, shape.vocabulary));
  }
  return texts;
}

#if defined(LINFORMER_CUDA_SIMULATED)
TEST_CASE("sessions share the weights on a device, and the second session uploads none") {
  const RandomModel shape;
  const auto weights = prepared(linformer_test::random_model(shape));
  CHECK(weights->bytes() == 0);
  Session first = created(weights, on_device());
  const uint64_t bytes = weights->bytes();
  CHECK(bytes > 0);
  // Each session uploads its own table of positions and its own table of the places of each head's keys.
  const int before = cuda::Simulated::uploads;
  Session second = created(weights, on_device());
  CHECK(weights->bytes() == bytes);
  CHECK(cuda::Simulated::uploads - before == 2);
  const auto texts = texts_of(shape);
  CHECK(run(first, texts, shape.vocabulary) == run(second, texts, shape.vocabulary));
  CHECK(first.used_bytes() == first.plan().total_bytes);
}
#endif

#if defined(LINFORMER_CUDA_SIMULATED)
TEST_CASE("outputs in the device's memory have the same bits") {
  for (ElementType type : {ElementType::f32, ElementType::f16}) {
    RandomModel shape;
    shape.type = type;
    shape.masked_lm = true;
    const auto weights = prepared(linformer_test::random_model(shape));
    SessionOptions options = on_device();
    Session host = created(weights, options);
    options.stream.outputs_on_device = true;
    Session device = created(weights, options);
    const auto texts = texts_of(shape);
    CHECK(run(host, texts, shape.vocabulary) == run(device, texts, shape.vocabulary));
  }
}
#endif

#if defined(LINFORMER_CUDA_SIMULATED)
TEST_CASE("every failed allocation on a device is an error and leaks nothing") {
  const RandomModel shape;
  const auto model = linformer_test::random_model(shape);
  int refused = 0;
  for (int allowed = 0;; ++allowed) {
    cuda::Simulated::allocations = allowed;
    const auto weights = prepared(model);
    Result<Session> session = Session::create(weights, on_device());
    if (session.ok()) break;
    ++refused;
    REQUIRE(session.status().code() == Code::out_of_memory);
    CHECK(std::string(session.status().message()).find("cuda:0") != std::string::npos);
    // The same weights can be used once memory is available.
    cuda::Simulated::allocations = -1;
    CHECK(Session::create(weights, on_device()).ok());
  }
  cuda::Simulated::allocations = -1;
  CHECK(refused > 10);
}
#endif

TEST_CASE("a model that no kernel supports is refused before anything runs") {
  if (linformer_test::engines().empty()) return;
  RandomModel shape;
  shape.d_model = 64;
  shape.heads = 1;
  shape.head_dim = 264;
  Result<Session> session = Session::create(linformer_test::random_model(shape), on_device());
  REQUIRE(!session.ok());
  CHECK(session.status().code() == Code::unsupported);
  CHECK(std::string(session.status().message()).find("'attend' has no kernel on a GPU for heads of 264") !=
        std::string::npos);
  shape.head_dim = 256;
  CHECK(Session::create(linformer_test::random_model(shape), on_device()).ok());
  SessionOptions options = on_device();
  options.cuda.device = 99;
  session = Session::create(linformer_test::random_model(shape), options);
  REQUIRE(!session.ok());
  CHECK(std::string(session.status().message()).find("no device cuda:99") != std::string::npos);
  options.cuda.device = -2;
  session = Session::create(linformer_test::random_model(shape), options);
  REQUIRE(!session.ok());
  CHECK(session.status().code() == Code::invalid_argument);
}

#if defined(LINFORMER_CUDA_SIMULATED)
TEST_CASE("the device computes in the file's type, or in the next higher one that it supports") {
  const auto computes = [](ElementType type, int architecture) {
    RandomModel shape;
    shape.type = type;
    cuda::Simulated::architecture = architecture;
    Result<Session> session = Session::create(linformer_test::random_model(shape), on_device());
    cuda::Simulated::architecture = 90;
    REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
    return session->plan().compute;
  };
  CHECK(computes(ElementType::f32, 90) == ElementType::f32);
  CHECK(computes(ElementType::f16, 70) == ElementType::f16);
  CHECK(computes(ElementType::int8, 70) == ElementType::f16);
  CHECK(computes(ElementType::bf16, 80) == ElementType::bf16);
  CHECK(computes(ElementType::bf16, 75) == ElementType::f32);
}
#endif

TEST_CASE("texts longer than a slice of E agree with the CPU, alone and in a batch") {
  if (linformer_test::engines().empty()) return;
  RandomModel shape;
  shape.n = 4500;
  shape.shared_key_value = true;
  shape.d_model = 16;
  shape.heads = 2;
  shape.ffn = 16;
  shape.masked_lm = false;
  for (ElementType type : {ElementType::f32, ElementType::f16}) {
    shape.type = type;
    const auto weights = prepared(linformer_test::random_model(shape));
    std::vector<std::vector<int32_t>> texts;
    for (int64_t length : {4500, 4096, 2049}) {
      texts.push_back(linformer_test::random_ids(static_cast<uint64_t>(length), length, shape.vocabulary));
    }
    const auto hidden = [&](Session& session, const std::vector<std::vector<int32_t>>& some) {
      const std::vector<Tokens> spans(some.begin(), some.end());
      size_t rows = 0;
      for (const auto& text : some) rows += text.size();
      std::vector<float> out(rows * shape.d_model, NAN);
      REQUIRE(session.run(spans, Output::hidden(out)).ok());
      return out;
    };
    SessionOptions options = on_device();
    Session device = created(weights, options);
    options.cuda.device = -1;
    Session cpu = created(weights, options);
    const std::vector<float> together = hidden(device, texts), expected = hidden(cpu, texts);
    double worst = 0;
    for (size_t i = 0; i < together.size(); ++i) {
      const double x = std::abs(static_cast<double>(together[i]) - static_cast<double>(expected[i]));
      if (!(x <= worst)) worst = x;
    }
    CHECK(worst < (type == ElementType::f32 ? 2e-5 : 2e-2));
    size_t at = 0;
    for (const auto& text : texts) {
      const std::vector<float> alone = hidden(device, {text});
      CHECK(std::memcmp(alone.data(), together.data() + at, alone.size() * sizeof(float)) == 0);
      at += alone.size();
    }
  }
}

#if defined(LINFORMER_CUDA_SIMULATED)
TEST_CASE("the dry run that creates a session has as many products for any convolution kernel and batch") {
  RandomModel shape;
  shape.kinds = {ProjectionKind::convolution};
  shape.n = 4096;
  shape.layers = 3;
  const auto dry_run_products = [&](uint32_t kernel, int64_t batch) {
    shape.kernel = shape.stride = kernel;
    SessionOptions options = on_device();
    options.memory.max_batch = batch;
    const auto weights = prepared(linformer_test::random_model(shape));
    const int64_t before = cuda::Simulated::products;
    created(weights, options);
    return cuda::Simulated::products - before;
  };
  const int64_t few = dry_run_products(16, 1);
  CHECK(few > 10);
  CHECK(dry_run_products(2048, 1) == few);
  CHECK(dry_run_products(16, 256) == few);
}
#endif

TEST_CASE("weights beyond the range of f16 are refused in f16 and computed in f32") {
  if (linformer_test::engines().empty()) return;
  RandomModel shape;
  shape.type = ElementType::f16;
  shape.masked_lm = false;
  for (const float value : {1e5f, INFINITY}) {
    CAPTURE(value);
    writer::ModelBuilder builder = linformer_test::random_builder(shape);
    // The first E is in f32, and the other weights are in f16.
    Projection& first = builder.description.encoder.projections[0];
    std::vector<float> e(size_t{shape.k} * shape.n, 0.25f);
    e[5] = value;
    first.weight = builder.add_floats("e", {shape.k, shape.n}, e);
    const writer::AlignedBytes bytes = builder.serialize();
    const auto model = Model::load(bytes);
    REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
    Result<Session> session = Session::create(*model, on_device());
    REQUIRE(!session.ok());
    CHECK(session.status().code() == Code::unsupported);
    CHECK(std::string(session.status().message()).find("can't multiply in f16") != std::string::npos);
    SessionOptions options = on_device();
    options.run.compute = Compute::f32;
    CHECK(Session::create(*model, options).ok());
  }
}

TEST_CASE("a profile on a device has the times of all ops") {
  if (linformer_test::engines().empty()) return;
  const RandomModel shape;
  SessionOptions options = on_device();
  options.profile = true;
  Session session = created(prepared(linformer_test::random_model(shape)), options);
  run(session, texts_of(shape), shape.vocabulary);
  std::set<std::string> ops;
  double seconds = 0, flop = 0;
  struct Sums {
    std::set<std::string>& ops;
    double &seconds, &flop;
  } sums{ops, seconds, flop};
  const auto visit = [](void* context, const ProgramLine& line) {
    Sums& to = *static_cast<Sums*>(context);
    to.ops.insert(line.op);
    to.seconds += line.seconds;
    to.flop += line.flop;
  };
  REQUIRE(session.profile(visit, &sums).ok());
  CHECK(ops.contains("gemm"));
  CHECK(ops.contains("attend"));
  CHECK(seconds > 0);
  CHECK(flop > 0);
}

}  // namespace

}  // namespace linformer_test::session_test
