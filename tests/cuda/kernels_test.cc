// Tests 16-bit numbers, and the kernels of attention and of a row's length, simulated on the CPU, against double
// precision.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "cuda/attention.h"
#include "cuda/device.h"
#include "cuda/rows.h"

namespace linformer_test::kernels_test {
namespace {

using namespace linformer;
using namespace linformer::cuda;

TEST_CASE("every f16 number survives a conversion, and ties round to even") {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const Half low{static_cast<uint16_t>(bits)}, high{static_cast<uint16_t>(bits + 1)};
    Half got;
    narrow(widen(low), &got);
    REQUIRE(got.bits == low.bits);
    if (bits + 1 == 0x7c00) continue;
    const float middle = static_cast<float>((static_cast<double>(widen(low)) + static_cast<double>(widen(high))) / 2);
    narrow(middle, &got);
    REQUIRE(got.bits == (bits % 2 == 0 ? low.bits : high.bits));
    narrow(-std::nextafter(middle, 1e9f), &got);
    REQUIRE(got.bits == (high.bits | 0x8000));
  }
  Half got;
  narrow(65520.f, &got);
  CHECK(got.bits == 0x7c00);
  narrow(NAN, &got);
  CHECK((got.bits & 0x7fff) > 0x7c00);
}

TEST_CASE("a row divided by its length agrees with double arithmetic, also if it has NaN or infinity") {
  constexpr int64_t cols = 37;
  const float largest = std::numeric_limits<float>::max() / 8, infinity = std::numeric_limits<float>::infinity();
  const float fillers[] = {3.f, largest, 1e-38f, 0.f, 1.f, 1.f};
  const float first[] = {-4.f, largest, 0.f, 0.f, NAN, infinity};
  std::vector<float> x;
  for (size_t row = 0; row < std::size(first); ++row) {
    x.push_back(first[row]);
    x.insert(x.end(), cols - 1, fillers[row]);
  }
  Result<std::unique_ptr<Device>> device = Device::open(0);
  REQUIRE(device.ok());
  Result<std::unique_ptr<Stream>> stream = Stream::create(**device, {});
  REQUIRE(stream.ok());
  const std::vector<float> before = x;
  const EachRow<NormalizeLength> kernel{{x.data(), cols, cols}, std::ssize(x) / cols};
  REQUIRE((*stream)->launch(kernel, kernel.grid()).ok());
  for (size_t row = 0; row < std::size(first); ++row) {
    CAPTURE(row);
    double squares = 0;
    for (size_t i = 0; i < cols; ++i) squares += std::pow(static_cast<double>(before[row * cols + i]), 2);
    const double length = std::max(std::sqrt(squares), 1e-12);
    for (size_t i = 0; i < cols; ++i) {
      const double expected = static_cast<double>(before[row * cols + i]) / length;
      const double got = static_cast<double>(x[row * cols + i]);
      if (std::isnan(expected)) {
        CHECK(std::isnan(got));
      } else {
        CHECK(std::abs(got - expected) <= 1e-6);
      }
    }
  }
}

template <class T, int depth>
double worst_of(int d_head, int keys, bool causal, int window) {
  constexpr int heads = 3;
  const int32_t starts[] = {0, 70, 101};
  std::mt19937 random(static_cast<unsigned>(d_head + keys));
  std::normal_distribution<float> normal;
  const int64_t width = heads * d_head, slot = keys == 0 ? width : keys * width;
  const size_t stored = static_cast<size_t>(keys == 0 ? 101 * width : 2 * slot);
  std::vector<float> query(static_cast<size_t>(101 * width)), key(stored), value(stored);
  for (std::vector<float>* x : {&query, &key, &value}) {
    for (float& element : *x) element = normal(random);
  }
  std::vector<GroupKeys> places;
  for (int64_t h = 0; h < heads; ++h) places.push_back({h * d_head, keys, 0, 0});
  std::vector<T> out(query.size());
  AttentionKernel<T, depth> kernel;
  AttentionParameters& p = kernel.p;
  p.query = query.data();
  p.context = out.data();
  p.keys = key.data();
  p.values = value.data();
  p.query_ld = p.context_ld = p.key_ld = width;
  p.slot = slot;
  p.by_rows = keys == 0;
  p.groups = places.data();
  p.starts = p.sources = starts;
  p.d_head = d_head;
  p.scale = 1 / std::sqrt(static_cast<float>(d_head));
  p.causal = causal;
  p.window = window;
  Result<std::unique_ptr<Device>> device = Device::open(0);
  REQUIRE(device.ok());
  Result<std::unique_ptr<Stream>> stream = Stream::create(**device, {});
  REQUIRE(stream.ok());
  p.sequences = 2;
  REQUIRE((*stream)->launch(kernel, {kernel.blocks(101, 2), heads}).ok());
  double worst = 0;
  for (int s = 0; s < 2; ++s) {
    const int n = starts[s + 1] - starts[s], count = keys == 0 ? n : keys;
    for (int row = 0; row < n; ++row) {
      for (int h = 0; h < heads; ++h) {
        const float* q = query.data() + (starts[s] + row) * width + h * d_head;
        const int64_t place = (keys == 0 ? starts[s] : s) * slot + h * d_head;
        std::vector<double> context(static_cast<size_t>(d_head));
        double sum = 0;
        for (int j = 0; j < count; ++j) {
          if ((causal && j > row) || (window > 0 && std::abs(j - row) > window)) continue;
          double score = 0;
          for (int e = 0; e < d_head; ++e)
            score += double{q[e]} * double{key[static_cast<size_t>(place + j * width + e)]};
          const double share = std::exp(score * double{p.scale});
          sum += share;
          for (int e = 0; e < d_head; ++e) {
            context[static_cast<size_t>(e)] += share * double{value[static_cast<size_t>(place + j * width + e)]};
          }
        }
        for (int e = 0; e < d_head; ++e) {
          const double got = double{widen(out[static_cast<size_t>((starts[s] + row) * width + h * d_head + e)])};
          const double x = std::abs(context[static_cast<size_t>(e)] / sum - got);
          if (!(x <= worst)) worst = x;
        }
      }
    }
  }
  return worst;
}

TEST_CASE("attention to compressed keys and to all keys agrees with double arithmetic") {
  for (int keys : {0, 1, 33, 128}) {
    for (int mode = 0; mode < (keys == 0 ? 3 : 2); ++mode) {
      const bool causal = mode == 1;
      const int window = mode == 2 ? 9 : 0;
      CAPTURE(keys);
      CAPTURE(mode);
      CHECK(worst_of<float, 32>(20, keys, causal, window) < 1e-5);
      CHECK(worst_of<float, 64>(60, keys, causal, window) < 1e-5);
      CHECK(worst_of<float, 256>(200, keys, causal, window) < 1e-5);
      CHECK(worst_of<Half, 64>(64, keys, causal, window) < 3e-3);
      CHECK(worst_of<Half, 128>(100, keys, causal, window) < 3e-3);
      CHECK(worst_of<Bf16, 32>(21, keys, causal, window) < 2e-2);
    }
  }
}

}  // namespace

}  // namespace linformer_test::kernels_test
