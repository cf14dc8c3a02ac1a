#include "gemm/native/native.h"

#include <algorithm>

#include "base/checked.h"
#include "gemm/gemm_list.h"

namespace linformer {
namespace {

// A plain right side is packed a block at a time, so the scratch is the same for every k and for every n beyond a
// chunk. A chunk is wide, so that A is read once for many columns, and still fits in L2 with A's block and C
// (768 KB); 16-bit weights go through two buffers and serve few rows, so theirs is narrower. Blocks of K begin at
// multiples of k_block, whatever else varies.
constexpr int64_t k_block = 256;

int64_t chunk_width(const GemmDesc& desc) {
  const int64_t widest = desc.type == ElementType::f32 ? 768 : 96;
  return desc.n < widest ? round_up(desc.n, panel_width) : widest;
}

// An activation or a residual may follow only the last block of K: until then the sums wait in a tile.
bool needs_tile(const GemmDesc& desc) {
  return desc.layout != RightLayout::panel16 && desc.k > k_block &&
         (desc.activation != Activation::none || desc.residual);
}

struct Entry {
  GemmDesc desc;
};

class NativeProvider final : public GemmProvider {
 public:
  explicit NativeProvider(const Kernels& kernels) : kernels_(kernels) {}

  BackendKind kind() const override { return BackendKind::native; }

  Result<int> add(const GemmDesc& desc) override {
    LINFORMER_TRY(check_gemm(desc));
    if (const int known = gemms_.find(desc); known >= 0) return known;
    Result<int> id = gemms_.append({desc});
    if (id.ok()) scratch_bytes_ = std::max(scratch_bytes_, native_scratch_bytes(desc));
    return id;
  }

  uint64_t scratch_bytes() const override { return scratch_bytes_; }

  Status run(int gemm, const GemmArgs& args, void* scratch) const override {
    const GemmDesc& desc = gemms_[gemm].desc;
    LINFORMER_TRY(check_args(desc, args));
    if (desc.layout == RightLayout::panel16) {
      kernels_.gemm_f32(args);
    } else {
      const int64_t width = chunk_width(desc);
      for (int64_t n0 = 0; n0 < args.c.cols; n0 += width) {
        multiply_columns(desc, args, n0, std::min(width, args.c.cols - n0), static_cast<float*>(scratch));
      }
    }
    return {};
  }

 private:
  // B[k0 .., n0 ..] as panels in `packed`; `widened` holds the rows of 16-bit weights in between.
  void pack_block(const RightMatrix& b, int64_t k0, int64_t k, int64_t n0, int64_t n, float* packed,
                  float* widened) const {
    if (b.layout == RightLayout::row_major) {
      kernels_.pack_panel({static_cast<const float*>(b.data) + k0 * b.ld + n0, k, n, b.ld}, false, packed);
      return;
    }
    const int64_t bytes = element_bytes(b.type);
    const char* from = static_cast<const char*>(b.data) + (n0 * b.ld + k0) * bytes;
    if (b.type == ElementType::f32) {
      kernels_.pack_panel({reinterpret_cast<const float*>(from), n, k, b.ld}, true, packed);
      return;
    }
    for (int64_t j = 0; j < n; ++j) kernels_.widen(b.type, from + j * b.ld * bytes, widened + j * k_block, k);
    kernels_.pack_panel({widened, n, k, k_block}, true, packed);
  }

  // Columns [n0, n0 + n) of C.
  void multiply_columns(const GemmDesc& desc, const GemmArgs& args, int64_t n0, int64_t n, float* scratch) const {
    const int64_t m = args.c.rows, block_elements = k_block * chunk_width(desc);
    float* packed = scratch;
    float* widened = packed + block_elements;
    const Epilogue& asked = args.epilogue;
    const MutableMatrix c = args.c.floats().part(0, n0, m, n);
    const ConstMatrix residual = asked.residual.data == nullptr ? ConstMatrix{} : asked.residual.part(0, n0, m, n);
    // By the declared k: the same path for every length of a varying one.
    const bool in_tile = needs_tile(desc);
    const MutableMatrix tile{desc.type == ElementType::f32 ? widened : widened + block_elements, m, n,
                             chunk_width(desc)};
    int64_t k0 = 0;
    do {
      const int64_t k = std::min(k_block, args.a.cols - k0);
      pack_block(args.b, k0, k, n0, n, packed, widened);
      Epilogue epilogue;
      epilogue.accumulate = asked.accumulate || k0 > 0;
      if (!epilogue.accumulate) {
        epilogue.row_bias = asked.row_bias;
        epilogue.bias = asked.bias == nullptr ? nullptr : asked.bias + n0;
        if (!in_tile) {
          epilogue.activation = asked.activation;
          epilogue.residual = residual;
        }
      }
      kernels_.gemm_f32({args.a.floats().part(0, k0, m, k),
                         {packed, ElementType::f32, RightLayout::panel16, k, n, 0},
                         in_tile ? tile : c,
                         epilogue});
      k0 += k_block;
    } while (k0 < args.a.cols);
    if (in_tile) finish_tile(asked.activation, residual, tile, c);
  }

  void finish_tile(Activation activation, const ConstMatrix& residual, const MutableMatrix& tile,
                   const MutableMatrix& c) const {
    for (int64_t i = 0; i < c.rows; ++i) {
      float* row = tile.row(i);
      kernels_.activate(activation, tile.part(i, 0, 1, tile.cols));
      if (residual.data != nullptr) kernels_.add(row, residual.row(i), tile.cols);
      std::copy_n(row, tile.cols, c.row(i));
    }
  }

  const Kernels& kernels_;
  GemmList<Entry> gemms_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

uint64_t native_scratch_bytes(const GemmDesc& desc) {
  if (desc.layout == RightLayout::panel16) return 0;
  const uint64_t width = static_cast<uint64_t>(chunk_width(desc));
  CheckedSize bytes;
  bytes.add_product(k_block, width, sizeof(float));
  if (desc.type != ElementType::f32) bytes.add_product(k_block, width, sizeof(float));
  if (needs_tile(desc)) bytes.add_product(static_cast<uint64_t>(desc.max_m), width, sizeof(float));
  return bytes.saturated();
}

Result<std::unique_ptr<GemmProvider>> make_native_provider(const Kernels& kernels) {
  std::unique_ptr<GemmProvider> provider(new (std::nothrow) NativeProvider(kernels));
  if (!provider) return Status::error(Code::out_of_memory, "no memory for the native backend");
  return Result<std::unique_ptr<GemmProvider>>(std::move(provider));
}

}  // namespace linformer
