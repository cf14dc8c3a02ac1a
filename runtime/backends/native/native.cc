#include "backends/native/native.h"

#include <algorithm>

#include "backends/product_list.h"
#include "base/checked.h"

namespace linformer {
namespace {

// A plain right side is packed a block at a time, so the scratch is the same for every k and for every n beyond a
// chunk. A chunk is wide, so that A is read once for many columns, and still fits in L2 with A's block and C
// (768 KB); 16-bit weights go through two buffers and serve few rows, so theirs is narrower. Blocks of K begin at
// multiples of k_block, whatever else varies.
constexpr int64_t k_block = 256;

int64_t chunk_width(const ProductShape& shape) {
  const int64_t widest = shape.type == ElementType::f32 ? 768 : 96;
  return std::min(widest, round_up(shape.n, panel_width));
}

struct Entry {
  ProductShape shape;
};

// What a block of K may not do before the last one: these wait in a tile of sums.
bool needs_tile(const ProductShape& shape) {
  return shape.layout != RightLayout::panel16 && shape.k > k_block &&
         (shape.activation != Activation::none || shape.residual);
}

class NativeBackend final : public Backend {
 public:
  explicit NativeBackend(const Kernels& kernels) : kernels_(kernels) {}

  BackendKind kind() const override { return BackendKind::native; }
  bool wants_packed_activations() const override { return true; }

  Result<int> add(const ProductShape& shape) override {
    LINFORMER_TRY(check_shape(shape));
    if (const int known = products_.find(shape); known >= 0) return known;
    Result<int> id = products_.append({shape});
    if (id.ok()) scratch_bytes_ = std::max(scratch_bytes_, scratch_for(shape));
    return id;
  }

  uint64_t scratch_bytes() const override { return scratch_bytes_; }

  Status run(int product, const Product& arguments, void* scratch) const override {
    const ProductShape& shape = products_[product].shape;
    LINFORMER_TRY(check_arguments(shape, arguments));
    if (shape.layout == RightLayout::panel16) {
      kernels_.gemm_panel({arguments.m, arguments.n, arguments.k, arguments.a, arguments.a_stride, arguments.b,
                           shape.type, arguments.c, arguments.c_stride, arguments.epilogue});
    } else {
      const int64_t width = chunk_width(shape);
      for (int64_t n0 = 0; n0 < arguments.n; n0 += width) {
        multiply_columns(shape, arguments, n0, std::min(width, arguments.n - n0), static_cast<float*>(scratch));
      }
    }
    return {};
  }

 private:
  static uint64_t scratch_for(const ProductShape& shape) {
    if (shape.layout == RightLayout::panel16) return 0;
    const int64_t block_elements = k_block * chunk_width(shape);
    int64_t elements = block_elements;
    if (shape.type != ElementType::f32) elements += block_elements;
    if (needs_tile(shape)) elements += shape.max_m * chunk_width(shape);
    return static_cast<uint64_t>(elements) * sizeof(float);
  }

  // B[k0 .., n0 ..] as panels in `packed`; `widened` holds the rows of 16-bit weights in between.
  void pack_block(const ProductShape& shape, const Product& p, int64_t k0, int64_t k, int64_t n0, int64_t n,
                  float* packed, float* widened) const {
    if (shape.layout == RightLayout::row_major) {
      kernels_.pack_panel(static_cast<const float*>(p.b) + k0 * p.b_stride + n0, p.b_stride, false, k, n, packed);
      return;
    }
    const char* b = static_cast<const char*>(p.b) + (n0 * p.b_stride + k0) * element_bytes(shape.type);
    if (shape.type == ElementType::f32) {
      kernels_.pack_panel(reinterpret_cast<const float*>(b), p.b_stride, true, k, n, packed);
      return;
    }
    for (int64_t j = 0; j < n; ++j) {
      kernels_.widen(shape.type, b + j * p.b_stride * element_bytes(shape.type), widened + j * k_block, k);
    }
    kernels_.pack_panel(widened, k_block, true, k, n, packed);
  }

  // Columns [n0, n0 + n) of C.
  void multiply_columns(const ProductShape& shape, const Product& p, int64_t n0, int64_t n, float* scratch) const {
    const int64_t block_elements = k_block * chunk_width(shape);
    float* packed = scratch;
    float* widened = packed + block_elements;
    const Epilogue& asked = p.epilogue;
    // By the declared k: the same path for every length of a varying one.
    const bool in_tile = needs_tile(shape);
    float* tile = shape.type == ElementType::f32 ? widened : widened + block_elements;
    float* sums = in_tile ? tile : p.c + n0;
    const int64_t sums_stride = in_tile ? chunk_width(shape) : p.c_stride;
    int64_t k0 = 0;
    do {
      const int64_t k = std::min(k_block, p.k - k0);
      pack_block(shape, p, k0, k, n0, n, packed, widened);
      Epilogue epilogue;
      epilogue.alpha = asked.alpha;
      epilogue.accumulate = asked.accumulate || k0 > 0;
      if (!epilogue.accumulate) {
        epilogue.row_bias = asked.row_bias;
        epilogue.bias = asked.bias == nullptr ? nullptr : asked.bias + n0;
        if (!in_tile) {
          epilogue.activation = asked.activation;
          epilogue.residual = asked.residual == nullptr ? nullptr : asked.residual + n0;
          epilogue.residual_stride = asked.residual_stride;
        }
      }
      kernels_.gemm_panel({p.m, n, k, p.a + k0, p.a_stride, packed, ElementType::f32, sums, sums_stride, epilogue});
      k0 += k_block;
    } while (k0 < p.k);
    if (in_tile) finish_tile(p, n0, n, tile, sums_stride);
  }

  void finish_tile(const Product& p, int64_t n0, int64_t n, float* tile, int64_t tile_stride) const {
    const Epilogue& asked = p.epilogue;
    for (int64_t i = 0; i < p.m; ++i, tile += tile_stride) {
      kernels_.activate(asked.activation, tile, n);
      if (asked.residual != nullptr) kernels_.add(tile, asked.residual + i * asked.residual_stride + n0, n);
      std::copy(tile, tile + n, p.c + i * p.c_stride + n0);
    }
  }

  const Kernels& kernels_;
  ProductList<Entry> products_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_native_backend(const Kernels& kernels) {
  std::unique_ptr<Backend> backend(new (std::nothrow) NativeBackend(kernels));
  if (!backend) return Status::error(Code::out_of_memory, "no memory for the native backend");
  return Result<std::unique_ptr<Backend>>(std::move(backend));
}

}  // namespace linformer
