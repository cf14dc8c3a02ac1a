// Measures on one thread where a matrix product with AMX spends its time, with the shapes of the base model: the whole
// kernel, its tiles without an epilogue, its epilogue without tiles, and the row kernels that run before and after
// products. Each printed time is that of the median call. tests/amx.sh runs this program.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "kernels/avx512/amx_tiles.h"
#include "kernels/kernels.h"

namespace {

using namespace linformer;

// Multiplies as the kernel does, but discards the sums instead of running the epilogue.
template <ElementType element>
struct TilesAlone : AmxTiles<element> {
  template <bool>
  struct Rows {
    void begin(const GemmArgs&, const TileSums&) {}
    void finish_row() {}
  };
  void add_scaled_slice(const GemmArgs&, const TileSums&) {}
  void finish(const GemmArgs&, const TileSums&) {}
};

// Runs the epilogue as the kernel does, but on sums that were never computed.
template <ElementType element>
struct EpilogueAlone : AmxTiles<element> {
  void configure(int64_t, int64_t) {}
  template <int>
  void zero() {}
  template <int>
  void load_rows(const char*, int64_t) {}
  template <int>
  void load_panel(const char*) {}
  template <int>
  void multiply() {}
  template <int>
  void load(const PartialSum*, int64_t) {}
  template <int>
  void store(PartialSum*, int64_t) {}
  void prefetch(const char*) {}
};

// Page-aligned memory. fill() writes numbers in [-0.5, 0.5), or random bytes for int8.
struct Buffer {
  explicit Buffer(size_t bytes)
      : data(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))), size(bytes) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data); }
  void fill(ElementType type) {
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> numbers(-0.5f, 0.5f);
    for (size_t i = 0; i + 4 <= size; i += 4) {
      uint32_t bits = static_cast<uint32_t>(random());
      if (type != ElementType::int8) {
        const float x = numbers(random), y = numbers(random);
        std::memcpy(&bits, &x, sizeof bits);
        if (type == ElementType::bf16) {
          uint32_t other;
          std::memcpy(&other, &y, sizeof other);
          bits = (bits & 0xffff0000u) | other >> 16;
        }
      }
      std::memcpy(data + i, &bits, sizeof bits);
    }
  }
  float* floats() { return reinterpret_cast<float*>(data); }
  char* data;
  size_t size;
};

// Calls `work` repeatedly, and returns the median of the seconds that a call takes.
template <class Work>
double seconds_of(Work work) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  work();
  for (const auto end = Clock::now() + std::chrono::milliseconds(100); seconds.size() < 15 || Clock::now() < end;) {
    const auto begin = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

struct Shape {
  const char* name;
  int64_t m, n, k;
  bool bias, gelu, residual, accumulate, narrow;  // If `narrow` is set, C is stored in bf16.
};

template <ElementType type>
void product(const Kernels& kernels, const Shape& shape) {
  const int64_t width = element_bytes(type), m = shape.m, n = shape.n, k = shape.k;
  const int64_t row = low_precision_row_bytes(type, k);
  Buffer a(static_cast<size_t>(m * row)), b(static_cast<size_t>(panel_elements(type, k, n) * width)),
      c(static_cast<size_t>(m * n) * 4), bias(static_cast<size_t>(n) * 4), scales(static_cast<size_t>(n) * 4),
      sums(static_cast<size_t>(int8_slices(k) * n) * 4);
  a.fill(type), b.fill(type), c.fill(ElementType::f32), bias.fill(ElementType::f32), scales.fill(ElementType::f32);
  std::memset(sums.data, 0, sums.size);
  GemmArgs args;
  args.a = {a.data, type, m, k, row / width};
  if (type == ElementType::int8) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t s = 0; s < int8_slices(k); ++s) {
        const RowScale scale{1e-3f, 128};
        std::memcpy(a.data + i * row + int8_codes_bytes(k) + s * static_cast<int64_t>(sizeof scale), &scale,
                    sizeof scale);
      }
    }
    args.a.scales = reinterpret_cast<const RowScale*>(a.data + int8_codes_bytes(k));
    args.a.scales_ld = row / static_cast<int64_t>(sizeof(RowScale));
  }
  args.b.data = b.data;
  args.b.type = type;
  args.b.k = k;
  args.b.n = n;
  args.b.scales = scales.floats();
  args.b.sums = reinterpret_cast<const int32_t*>(sums.data);
  args.b.sums_ld = n;
  if (shape.narrow) {
    args.c = Matrix<uint16_t>{reinterpret_cast<uint16_t*>(c.data), m, n, n};
  } else {
    args.c = MutableMatrix{c.floats(), m, n, n};
  }
  if (shape.bias) args.epilogue.bias = bias.floats();
  if (shape.gelu) args.epilogue.activation = Activation::gelu;
  if (shape.residual) args.epilogue.residual = {c.floats(), m, n, n};
  args.epilogue.accumulate = shape.accumulate;
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double whole = seconds_of([&] { (type == ElementType::int8 ? kernels.gemm_int8 : kernels.gemm_bf16)(args); });
  const double tiles = seconds_of([&] {
    TilesAlone<type> alone;
    multiply_by_tiles(alone, args);
  });
  const double epilogue = seconds_of([&] {
    EpilogueAlone<type> alone;
    multiply_by_tiles(alone, args);
  });
  std::printf(
      "%s %4lld x %4lld x %4lld %-16s %8.0f GFLOP/s  tiles alone %6.0f  us: %7.1f  tiles %7.1f  epilogue %7.1f\n",
      type == ElementType::int8 ? "int8" : "bf16", static_cast<long long>(m), static_cast<long long>(n),
      static_cast<long long>(k), shape.name, operations / whole / 1e9, operations / tiles / 1e9, whole * 1e6,
      tiles * 1e6, epilogue * 1e6);
}

void rows(const Kernels& kernels) {
  constexpr int64_t m = 256, n = 768;
  Buffer x(m * n * 4), y(m * n * 4), weights(n * 4),
      narrow(static_cast<size_t>(m * low_precision_row_bytes(ElementType::bf16, n)));
  x.fill(ElementType::f32), weights.fill(ElementType::f32);
  const auto print = [](const char* name, double seconds, int64_t elements) {
    std::printf("%-28s %6.3f ns for 16 elements\n", name, seconds * 1e9 * 16 / static_cast<double>(elements));
  };
  const MutableMatrix in{x.floats(), m, n, n}, out{y.floats(), m, n, n};
  print("norm_rows", seconds_of([&] {
          kernels.norm_rows(in, {weights.floats(), weights.floats(), 1e-5f}, out);
        }),
        m * n);
  const int64_t row = low_precision_row_bytes(ElementType::int8, n);
  const QuantizedRows codes{reinterpret_cast<uint8_t*>(narrow.data), row,
                            reinterpret_cast<RowScale*>(narrow.data + int8_codes_bytes(n)),
                            row / static_cast<int64_t>(sizeof(RowScale))};
  print("quantize_rows", seconds_of([&] { kernels.quantize_rows(in, codes); }), m * n);
  print("round_rows", seconds_of([&] {
          kernels.round_rows(in, {reinterpret_cast<uint16_t*>(narrow.data), m, n, n});
        }),
        m * n);
  std::vector<float> row_max(64), row_sum(64), rescale(64);
  print(
      "softmax_step_bf16, 64 x 128", seconds_of([&] {
        std::fill(row_max.begin(), row_max.end(), -1e30f);
        kernels.softmax_step_bf16({y.floats(), 64, 128, 128}, 0.125f, {row_max.data(), row_sum.data(), rescale.data()});
      }),
      64 * 128);
}

}  // namespace

int main() {
  if (!machine_has(Isa::avx512) || !machine_has(Extension::amx)) {
    std::puts("This processor has no AMX.");
    return 77;
  }
  const Kernels& kernels = *kernels_for(Isa::avx512);
  const Shape shapes[] = {
      {"bias", 256, 768, 768, true, false, false, false, false},
      {"bias, gelu", 256, 768, 768, true, true, false, false, false},
      {"bias, residual", 256, 768, 768, true, false, true, false, false},
      {"accumulate", 256, 768, 768, false, false, false, true, false},
      {"bias", 128, 768, 768, true, false, false, false, false},
      {"bias", 64, 768, 768, true, false, false, false, false},
      {"bias", 32, 768, 768, true, false, false, false, false},
      {"bias, gelu", 32, 768, 768, true, true, false, false, false},
      {"bias, residual", 256, 768, 3072, true, false, true, false, false},
  };
  for (const Shape& shape : shapes) product<ElementType::int8>(kernels, shape);
  for (const Shape& shape : shapes) product<ElementType::bf16>(kernels, shape);
  product<ElementType::bf16>(kernels, {"bias, gelu, bf16", 256, 768, 768, true, true, false, false, true});
  product<ElementType::bf16>(kernels, {"bias, bf16", 256, 768, 768, true, false, false, false, true});
  product<ElementType::bf16>(kernels, {"scores", 64, 128, 64, false, false, false, false, false});
  product<ElementType::bf16>(kernels, {"context", 64, 64, 128, false, false, false, false, false});
  rows(kernels);
  return 0;
}
