#include "bench/limit_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/cpu.h"

namespace linformer::bench {
namespace {

// The number of independent accumulators. It is at least the latency of an instruction times the number of units of the
// processors that were tried, and the accumulators fit into the registers.
constexpr int sums = 12;
// vdpbf16ps takes more than 6 cycles on Zen 5, which has two units. With 12 accumulators the loop reaches 94 % of its
// rate with 24.
constexpr int bf16_sums = 24;
constexpr int64_t rounds = 100'000;

template <int lanes, int count = sums>
constexpr double operations_of() {
  return 2.0 * static_cast<double>(rounds) * count * lanes;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float f32_avx512(float start) {
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

__attribute__((target("avx2,fma"))) float f32_avx2(float start) {
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

__attribute__((target("avx512f,avx512bf16"))) float bf16_avx512(float start) {
  __m512 sum[bf16_sums];
  for (int i = 0; i < bf16_sums; ++i) sum[i] = _mm512_set1_ps(start + static_cast<float>(i));
  const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3c003c00), b = (__m512bh)_mm512_set1_epi32(0x3b003b00);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < bf16_sums; ++i) sum[i] = _mm512_dpbf16_ps(sum[i], a, b);
  }
  for (int i = 1; i < bf16_sums; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  float lanes[16];
  _mm512_storeu_ps(lanes, sum[0]);
  return lanes[0];
}

__attribute__((target("avx512f,avx512vnni"))) float int8_avx512(float start) {
  __m512i sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm512_set1_epi32(static_cast<int>(start) + i);
  const __m512i a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(static_cast<char>(-1));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = _mm512_dpbusd_epi32(sum[i], a, b);
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
  int lanes[16];
  _mm512_storeu_si512(lanes, sum[0]);
  return static_cast<float>(lanes[0]);
}

// For processors without VNNI. There int8 numbers are widened to 16 bits and multiplied as such, so that the products
// can't overflow.
__attribute__((target("avx2"))) float int8_avx2(float start) {
  __m256i sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = _mm256_set1_epi32(static_cast<int>(start) + i);
  const __m256i b = _mm256_set1_epi16(-1);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(sum[i], b));
  }
  for (int i = 1; i < sums; ++i) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
  return static_cast<float>(_mm256_extract_epi32(sum[0], 0));
}

struct TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);
constexpr double tile_sums = 4;  // Tiles 0 to 3 are accumulators, and tiles 4 to 7 are operands.

// Configures the AMX tiles and sets all of them to zero. They keep their contents when the function returns.
__attribute__((target("amx-tile"))) void begin_tiles() {
  // The configuration is static because GCC assumes that _tile_loadconfig() reads only its first bytes. GCC would not
  // write the other bytes of a local variable.
  static const TileConfiguration configuration;
  alignas(64) static const uint8_t data[1024] = {};
  _tile_loadconfig(&configuration);
  _tile_loadd(4, data, 64);
  _tile_loadd(5, data, 64);
  _tile_loadd(6, data, 64);
  _tile_loadd(7, data, 64);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

__attribute__((target("amx-tile"))) float end_tiles() {
  alignas(64) uint8_t data[1024] = {};
  _tile_stored(0, data, 64);
  _tile_release();
  return static_cast<float>(data[0]);
}

__attribute__((target("amx-tile,amx-bf16"))) float bf16_amx(float start) {
  begin_tiles();
  for (int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  return start + end_tiles();
}

__attribute__((target("amx-tile,amx-int8"))) float int8_amx(float start) {
  begin_tiles();
  for (int64_t round = 0; round < rounds; ++round) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  return start + end_tiles();
}
constexpr double tile_operations(int depth) { return 2.0 * 16 * 16 * depth * tile_sums * static_cast<double>(rounds); }
#elif defined(__aarch64__)
float f32_neon(float start) {
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

__attribute__((target("arch=armv8.2-a+bf16"))) float bf16_neon(float start) {
  float32x4_t sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = vdupq_n_f32(start + static_cast<float>(i));
  const bfloat16x8_t a = vreinterpretq_bf16_u16(vdupq_n_u16(0x3c00)), b = vreinterpretq_bf16_u16(vdupq_n_u16(0x3b00));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = vbfdotq_f32(sum[i], a, b);
  }
  for (int i = 1; i < sums; ++i) sum[0] = vaddq_f32(sum[0], sum[i]);
  return vgetq_lane_f32(sum[0], 0);
}

__attribute__((target("arch=armv8.2-a+dotprod"))) float int8_neon(float start) {
  int32x4_t sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = vdupq_n_s32(static_cast<int>(start) + i);
  const int8x16_t a = vdupq_n_s8(1), b = vdupq_n_s8(-1);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = vdotq_s32(sum[i], a, b);
  }
  for (int i = 1; i < sums; ++i) sum[0] = vaddq_s32(sum[0], sum[i]);
  return static_cast<float>(vgetq_lane_s32(sum[0], 0));
}
#endif

// A loop for machines without FMA: a multiplication and an addition, which the compiler may vectorise.
float f32_scalar(float start) {
  float sum[sums];
  for (int i = 0; i < sums; ++i) sum[i] = start + static_cast<float>(i);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < sums; ++i) sum[i] = sum[i] * 0.999f + start;
  }
  float total = 0;
  for (float value : sum) total += value;
  return total;
}

}  // namespace

ArithmeticLoop arithmetic_loop(ElementType type) {
#if defined(__x86_64__)
  if (type == ElementType::bf16) {
    if (machine_has(Extension::amx)) return {"tdpbf16ps", tile_operations(32), bf16_amx};
    if (machine_has(Extension::avx512_bf16)) return {"vdpbf16ps", 2 * operations_of<16, bf16_sums>(), bf16_avx512};
    return {};
  }
  if (type == ElementType::int8) {
    if (machine_has(Extension::amx)) return {"tdpbusd", tile_operations(64), int8_amx};
    if (machine_has(Extension::avx512_vnni)) return {"vpdpbusd", 4 * operations_of<16>(), int8_avx512};
    if (machine_has(Isa::avx2)) return {"vpmaddwd", operations_of<16>(), int8_avx2};
    return {};
  }
  if (machine_has(Isa::avx512)) return {"avx512 fma", operations_of<16>(), f32_avx512};
  if (machine_has(Isa::avx2)) return {"avx2 fma", operations_of<8>(), f32_avx2};
#elif defined(__aarch64__)
  if (type == ElementType::bf16) {
    if (machine_has(Extension::neon_bf16)) return {"bfdot", 2 * operations_of<4>(), bf16_neon};
    return {};
  }
  if (type == ElementType::int8) {
    if (machine_has(Extension::neon_dotprod)) return {"sdot", 4 * operations_of<4>(), int8_neon};
    return {};
  }
  if (machine_has(Isa::neon)) return {"neon fma", operations_of<4>(), f32_neon};
#endif
  if (type != ElementType::f32) return {};
  return {"scalar", operations_of<1>(), f32_scalar};
}

uint64_t read_words(const uint64_t* data, size_t words) {
  uint64_t sum[16] = {};
  for (size_t i = 0; i + 16 <= words; i += 16) {
    for (size_t j = 0; j < 16; ++j) sum[j] += data[i + j];
  }
  uint64_t total = 0;
  for (const uint64_t value : sum) total += value;
  return total;
}

}  // namespace linformer::bench
