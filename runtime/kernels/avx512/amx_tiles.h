// The tile operations of AMX, in the form that generic/tiles.h needs.
#pragma once

#include <immintrin.h>

#include "kernels/avx512/lanes.h"
#include "kernels/generic/finish.h"
#include "kernels/generic/tiles.h"
#include "kernels/tables.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The configuration of the tile registers. Registers 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 parts of panels of B.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {};
};

template <ElementType element>
class AmxTiles {
 public:
  static constexpr ElementType type = element;

  ~AmxTiles() { _tile_release(); }

  void configure(int64_t first, int64_t second) {
    if (config_.rows[0] == first && config_.rows[2] == second) return;
    const uint8_t rows[8] = {static_cast<uint8_t>(first),
                             static_cast<uint8_t>(first),
                             static_cast<uint8_t>(second),
                             static_cast<uint8_t>(second),
                             static_cast<uint8_t>(first),
                             static_cast<uint8_t>(second),
                             16,
                             16};
    __builtin_memcpy(config_.rows, rows, sizeof rows);
    // GCC's declaration of the intrinsic says that it reads only the first bytes of config_. Without this line the
    // compiler may leave the other bytes unwritten.
    __asm__ volatile("" : : "m"(config_));
    _tile_loadconfig(&config_);
  }
  // The intrinsics need the number of a register as a literal.
  template <int C>
  void zero() {
    if constexpr (C == 0) _tile_zero(0);
    if constexpr (C == 1) _tile_zero(1);
    if constexpr (C == 2) _tile_zero(2);
    if constexpr (C == 3) _tile_zero(3);
  }
  // Rows are loaded with a streaming hint, so that they don't drive panels out of the L1 cache. This makes int8
  // products a quarter faster.
  template <int R>
  void load_rows(const char* a, int64_t stride) {
    if constexpr (R == 0) _tile_stream_loadd(4, a, stride);
    if constexpr (R == 1) _tile_stream_loadd(5, a, stride);
  }
  template <int P>
  void load_panel(const char* b) {
    if constexpr (P == 0) _tile_loadd(6, b, 64);
    if constexpr (P == 1) _tile_loadd(7, b, 64);
  }
  template <int C>
  void multiply() {
    if constexpr (element == ElementType::bf16) {
      if constexpr (C == 0) _tile_dpbf16ps(0, 4, 6);
      if constexpr (C == 1) _tile_dpbf16ps(1, 4, 7);
      if constexpr (C == 2) _tile_dpbf16ps(2, 5, 6);
      if constexpr (C == 3) _tile_dpbf16ps(3, 5, 7);
    } else {
      if constexpr (C == 0) _tile_dpbusd(0, 4, 6);
      if constexpr (C == 1) _tile_dpbusd(1, 4, 7);
      if constexpr (C == 2) _tile_dpbusd(2, 5, 6);
      if constexpr (C == 3) _tile_dpbusd(3, 5, 7);
    }
  }
  template <int C>
  void load(const PartialSum* sums, int64_t stride) {
    if constexpr (C == 0) _tile_loadd(0, sums, stride);
    if constexpr (C == 1) _tile_loadd(1, sums, stride);
    if constexpr (C == 2) _tile_loadd(2, sums, stride);
    if constexpr (C == 3) _tile_loadd(3, sums, stride);
  }
  template <int C>
  void store(PartialSum* sums, int64_t stride) {
    if constexpr (C == 0) _tile_stored(0, sums, stride);
    if constexpr (C == 1) _tile_stored(1, sums, stride);
    if constexpr (C == 2) _tile_stored(2, sums, stride);
    if constexpr (C == 3) _tile_stored(3, sums, stride);
  }
  void prefetch(const char* address) { _mm_prefetch(address, _MM_HINT_T1); }
  template <bool gelu>
  using Rows = WholeRows<Avx512Lanes<xsimd::avx512bw>, element, ElementType::f32, gelu, 2, true>;
  void add_scaled_slice(const GemmArgs& gemm, const TileSums& tile) {
    avx512_int8_epilogue.add_scaled_slice(gemm, tile);
  }
  void finish(const GemmArgs& gemm, const TileSums& tile) {
    (type == ElementType::int8 ? avx512_int8_epilogue.finish : avx512_bf16_kernels.finish)(gemm, tile);
  }

 private:
  TileConfig config_;
};

}  // namespace
}  // namespace LINFORMER_NAMESPACE
