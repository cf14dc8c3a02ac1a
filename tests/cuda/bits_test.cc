// Tests that the output of a text on a device has the same bits alone and in any batch, in sessions that run at the
// same time, and in every run. On a GPU the layers have RoBERTa-base's size; on the simulated device they are small.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/engines.h"
#include "support/random_model.h"
#if !defined(LINFORMER_CUDA_SIMULATED)
#include <cuda_runtime_api.h>
#endif

namespace linformer_test::bits_test {
namespace {

using namespace linformer;
using Text = std::vector<int32_t>;
using Rows = std::vector<float>;

#if defined(LINFORMER_CUDA_SIMULATED)
constexpr uint32_t scale = 1, longest = 150;
constexpr int runs = 2;
#else
constexpr uint32_t scale = 12, longest = 4800;  // E has more than one slice.
constexpr int runs = 40;
#endif
constexpr size_t most_texts = 16;

RandomModel shape_of(uint32_t k, ElementType type) {
  RandomModel shape;
  shape.type = type;
  shape.d_model = 64 * scale;
  shape.heads = scale;
  shape.ffn = 4 * shape.d_model;
  shape.n = longest;
  shape.k = k;
  shape.kinds = {k == 0 ? ProjectionKind::none : ProjectionKind::linear};
  shape.shared_key_value = shape.shared_layers = true;
  shape.masked_lm = false;
  shape.vocabulary = 100;
  return shape;
}

// Returns texts with lengths on both sides of the limits at which kernels divide their work differently, such as a
// block of queries and a slice of E.
std::vector<Text> texts_of(const RandomModel& shape) {
  std::vector<Text> texts;
  for (const uint32_t length : {shape.n, 1u, shape.n / 2, 63u, 64u, 65u, shape.n - 7, 17u}) {
    texts.push_back(linformer_test::random_ids(texts.size() + 1, length, shape.vocabulary));
  }
  return texts;
}

Session created(const std::shared_ptr<const PreparedWeights>& weights, void* stream = nullptr) {
  SessionOptions options;
  options.cuda.device = 0;
  options.memory.max_batch = most_texts;
  options.stream.handle = stream;
  Result<Session> session = Session::create(weights, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
  return std::move(session.value());
}

// Runs the texts in one call, and returns the rows of each text. The result is empty if the run fails.
std::vector<Rows> hidden(Session& session, const std::vector<const Text*>& texts, int64_t width) {
  std::vector<Tokens> spans;
  size_t rows = 0;
  for (const Text* text : texts) {
    spans.push_back(*text);
    rows += text->size();
  }
  Rows all(rows * static_cast<size_t>(width), NAN);
  const Status status = session.run(spans, Output::hidden(all));
  std::vector<Rows> result;
  if (!status.ok()) return result;
  auto at = all.begin();
  for (const Text* text : texts) {
    const auto end = at + static_cast<std::ptrdiff_t>(text->size()) * width;
    result.emplace_back(at, end);
    at = end;
  }
  return result;
}

bool same(const Rows& a, const Rows& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Returns how many texts of random batches have different bits than they have alone, or -1 if a run fails.
int differing(Session& session, const std::vector<Text>& texts, const std::vector<Rows>& alone, int64_t width,
              unsigned seed) {
  std::mt19937 random(seed);
  int wrong = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<const Text*> batch;
    std::vector<size_t> which;
    const size_t count = 1 + random() % most_texts;
    for (size_t i = 0; i < count; ++i) {
      which.push_back(random() % texts.size());
      batch.push_back(&texts[which.back()]);
    }
    const std::vector<Rows> got = hidden(session, batch, width);
    if (got.empty()) return -1;
    for (size_t i = 0; i < count; ++i) wrong += same(got[i], alone[which[i]]) ? 0 : 1;
  }
  return wrong;
}

TEST_CASE("a text has the same bits on a device in any batch, in two sessions at once and in every run") {
  if (linformer_test::engines().empty()) return;
  for (const uint32_t k : {16u * scale, 0u}) {
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
      const RandomModel shape = shape_of(k, type);
      CAPTURE(k);
      CAPTURE(std::string(name_of(type)));
      const auto weights = PreparedWeights::create(linformer_test::random_model(shape));
      REQUIRE(weights.ok());
      const std::vector<Text> texts = texts_of(shape);
      Session first = created(*weights);
      std::vector<Rows> alone;
      for (const Text& text : texts) {
        alone.push_back(hidden(first, {&text}, shape.d_model).at(0));
        REQUIRE(std::all_of(alone.back().begin(), alone.back().end(), [](float x) { return std::isfinite(x); }));
      }
      CHECK(differing(first, texts, alone, shape.d_model, 1) == 0);
      // Two sessions run at the same time. On a GPU one of them uses a stream of the caller.
      void* stream = nullptr;
#if !defined(LINFORMER_CUDA_SIMULATED)
      cudaStream_t own = nullptr;
      REQUIRE(cudaStreamCreate(&own) == cudaSuccess);
      stream = own;
#endif
      {
        Session second = created(*weights, stream);
        int of_second = 0;
        std::thread other([&] { of_second = differing(second, texts, alone, shape.d_model, 2); });
        const int of_first = differing(first, texts, alone, shape.d_model, 3);
        other.join();
        CHECK(of_first == 0);
        CHECK(of_second == 0);
      }
#if !defined(LINFORMER_CUDA_SIMULATED)
      cudaStreamDestroy(own);
#endif
      std::printf("%s, k %u: equal bits in %d random batches of two sessions\n", name_of(type), k, 3 * runs);
    }
  }
}

}  // namespace

}  // namespace linformer_test::bits_test
