#include "bench/fma_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/cpu.h"

namespace linformer::bench {
namespace {

// Independent sums: more than latency (4 to 5 cycles) times units (2 to 4) of any processor at hand, and they fit
// into the registers.
constexpr int sums = 12;
constexpr int64_t rounds = 200'000;

// Each runs `rounds` rounds of `sums` fused multiply-adds and returns something that depends on all of them.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) float run_avx512(float start) {
  __m512 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm512_set1_ps(start + static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(start);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = _mm512_fmadd_ps(sum[i], factor, term);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  float lanes[16];
  _mm512_storeu_ps(lanes, sum[0]);
  return lanes[0];
}

__attribute__((target("avx2,fma"))) float run_avx2(float start) {
  __m256 sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm256_set1_ps(start + static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(start);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = _mm256_fmadd_ps(sum[i], factor, term);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  float lanes[8];
  _mm256_storeu_ps(lanes, sum[0]);
  return lanes[0];
}
#elif defined(__aarch64__)
float run_neon(float start) {
  float32x4_t sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = vdupq_n_f32(start + static_cast<float>(i));
  const float32x4_t factor = vdupq_n_f32(0.999f), term = vdupq_n_f32(start);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = vfmaq_f32(term, sum[i], factor);
  }
  for (int i = 1; i < sums; ++i) sum[0] = vaddq_f32(sum[0], sum[i]);
  return vgetq_lane_f32(sum[0], 0);
}
#endif

// Without FMA a multiplication and an addition, which the compiler may put into vectors.
float run_scalar(float start) {
  float sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = start + static_cast<float>(i);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < sums; ++i) sum[i] = sum[i] * 0.999f + start;
  }
  float total = 0;
  for (float value : sum) total += value;
  return total;
}

struct Loop {
  Isa isa;
  int lanes;
  float (*run)(float);
};

Loop widest_loop() {
#if defined(__x86_64__)
  if (machine_has(Isa::avx512)) return {Isa::avx512, 16, run_avx512};
  if (machine_has(Isa::avx2)) return {Isa::avx2, 8, run_avx2};
#elif defined(__aarch64__)
  if (machine_has(Isa::neon)) return {Isa::neon, 4, run_neon};
#endif
  return {Isa::scalar, 1, run_scalar};
}

}  // namespace

Isa widest_isa() { return widest_loop().isa; }

double measure_f32_limit(int threads) {
  const Loop loop = widest_loop();
  const double flops_of_a_call = 2.0 * static_cast<double>(rounds) * sums * loop.lanes;
  double best = 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    std::atomic<int> ready{0};
    std::vector<double> rates(static_cast<size_t>(threads));
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        volatile float sink = loop.run(0.5f);  // warms the units up
        ready.fetch_add(1);
        while (ready.load() < threads) std::this_thread::yield();
        using Clock = std::chrono::steady_clock;
        const auto begin = Clock::now();
        int64_t calls = 0;
        double seconds = 0;
        do {
          sink = loop.run(0.5f);
          ++calls;
          seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        } while (seconds < 0.1);
        (void)sink;
        rates[static_cast<size_t>(t)] = static_cast<double>(calls) * flops_of_a_call / seconds / 1e9;
      });
    }
    for (std::thread& thread : team) thread.join();
    double sum = 0;
    for (double rate : rates) sum += rate;
    best = std::max(best, sum);
  }
  return best;
}

}  // namespace linformer::bench
