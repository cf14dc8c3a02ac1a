// bf16 and int8 products by AMX. Their loops are tested with emulated tiles on any machine, and with real ones where it
// has them.
#include "kernels/avx512/lanes.h"
#include "kernels/generic/finish.h"
#include "kernels/generic/tiles.h"
#include "kernels/tables.h"

namespace linformer {
namespace {

struct Lanes : Avx512Lanes<xsimd::avx512bw> {
  static LINFORMER_INLINE void store_bf16(uint16_t* p, int64_t count, Batch x) {
    const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(x);
    _mm512_mask_cvtepi32_storeu_epi16(p, first_lanes_mask(count), _mm512_cvtepu16_epi32(rounded));
  }
};

// Palette 1: registers 0 to 3 are sums, 4 and 5 rows, 6 and 7 panels.
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
    // GCC's intrinsic says that it reads the first bytes alone: the rest might never be written.
    __asm__ volatile("" : : "m"(config_));
    _tile_loadconfig(&config_);
  }
  // The intrinsics take a register's number as a literal.
  template <int C>
  void zero() {
    if constexpr (C == 0) _tile_zero(0);
    if constexpr (C == 1) _tile_zero(1);
    if constexpr (C == 2) _tile_zero(2);
    if constexpr (C == 3) _tile_zero(3);
  }
  template <int C>
  void load(const PartialSum* sums) {
    if constexpr (C == 0) _tile_loadd(0, sums, sums_stride);
    if constexpr (C == 1) _tile_loadd(1, sums, sums_stride);
    if constexpr (C == 2) _tile_loadd(2, sums, sums_stride);
    if constexpr (C == 3) _tile_loadd(3, sums, sums_stride);
  }
  // Rows stream past panels, which stay in the nearest cache where rows aren't kept there: worth a quarter in int8.
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
  void fold(const GemmArgs& gemm, const PartialSum* sums, float* folded, const RowFactors* factors, int64_t factors_ld,
            int64_t rows, int64_t col, int64_t cols, int64_t slice) {
    fold_slice<Lanes, panel_width>(gemm, sums, folded, factors, factors_ld, rows, col, cols, slice);
  }
  template <SumKind kind>
  void finish(const GemmArgs& gemm, const PartialSum* sums, const RowFactors* factors, int64_t factors_ld, int64_t row,
              int64_t rows, int64_t col, int64_t cols) {
    finish_tile<Lanes, element, kind, panel_width>(gemm, sums, factors, factors_ld, row, rows, col, cols);
  }

 private:
  static constexpr int64_t sums_stride = panel_width * sizeof(PartialSum);
  TileConfig config_;
};

template <ElementType element>
void gemm(const GemmArgs& args) {
  AmxTiles<element> tiles;
  multiply_by_tiles(tiles, args);
}

}  // namespace

const GemmKernel amx_gemm_bf16 = &gemm<ElementType::bf16>;
const GemmKernel amx_gemm_int8 = &gemm<ElementType::int8>;

}  // namespace linformer
