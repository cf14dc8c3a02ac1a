#include "gemm/native/native.h"

#include <algorithm>

#include "base/checked.h"
#include "gemm/gemm_list.h"

namespace LINFORMER_NAMESPACE {
namespace {

// A right operand that isn't in panels is packed a block at a time. So the scratch doesn't depend on k, nor on n if
// that is larger than a chunk of columns. Blocks of K always begin at multiples of k_block.
constexpr int64_t k_block = 256;

// Returns the columns of a chunk. A chunk is wide, so that A is read once for many columns, but a block of it (768 KB)
// fits into L2 together with A's block and C. Low-precision weights go through two buffers and are multiplied by few
// rows, so their chunk is narrower.
int64_t chunk_width(const GemmDesc& desc) {
  const int64_t widest = desc.type == ElementType::f32 ? 768 : 96;
  return desc.n < widest ? round_up(desc.n, panel_width) : widest;
}

// The layout of a thread's scratch, as offsets in bytes.
struct Scratch {
  uint64_t packed = 0;   // A block of a right operand that isn't in panels, packed into panels.
  uint64_t widened = 0;  // Rows of low-precision weights, before they are packed.
  uint64_t tile = 0;     // The sums until the last block of K.
  uint64_t left = 0;     // Rows of A in the type that is multiplied.
  uint64_t bytes = 0;    // The size of the scratch.
};

// Returns whether the sums lie in a tile until the last block of K, because an activation or a residual follows them.
bool needs_tile(const GemmDesc& desc) {
  return desc.layout != RightLayout::panel16 && desc.k > k_block &&
         (desc.activation != Activation::none || desc.residual);
}

// Returns the leading dimension of A in scratch, in elements.
int64_t left_stride(const GemmDesc& desc) {
  const int64_t k = desc.layout == RightLayout::panel16 ? desc.k : k_block;
  return desc.compute == ElementType::f32 ? k : round_up(k, 64 / element_bytes(desc.compute));
}

Scratch scratch_of(const GemmDesc& desc) {
  Scratch scratch;
  CheckedSize bytes;
  const auto place = [&](uint64_t* offset, bool needed, int64_t rows, int64_t cols, int64_t width) {
    bytes.align(64);
    *offset = bytes.saturated();
    if (needed) {
      bytes.add_product(static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), static_cast<uint64_t>(width));
    }
  };
  const bool plain = desc.layout != RightLayout::panel16;
  const int64_t width = chunk_width(desc);
  place(&scratch.packed, plain, k_block, width, sizeof(float));
  place(&scratch.widened, plain && desc.type != ElementType::f32, k_block, width, sizeof(float));
  place(&scratch.tile, needs_tile(desc), desc.max_m, width, sizeof(float));
  place(&scratch.left, desc.left != desc.compute, desc.max_m, left_stride(desc), element_bytes(desc.compute));
  scratch.bytes = bytes.saturated();
  return scratch;
}

struct Entry {
  GemmDesc desc;
  Scratch scratch;
};

class NativeProvider final : public GemmProvider {
 public:
  explicit NativeProvider(const Kernels& kernels) : kernels_(kernels) {}

  BackendKind kind() const override { return BackendKind::native; }

  Result<int> add(const GemmDesc& desc) override {
    LINFORMER_TRY(check_gemm(desc));
    if (desc.compute == ElementType::bf16 && kernels_.gemm_bf16 == nullptr) {
      return Status::error(Code::unsupported, "%s has no bf16 products on this machine: compute in f32",
                           name_of(kernels_.isa));
    }
    if (const int known = gemms_.find(desc); known >= 0) return known;
    Result<int> id = gemms_.append({desc, scratch_of(desc)});
    if (id.ok()) scratch_bytes_ = std::max(scratch_bytes_, native_scratch_bytes(desc));
    return id;
  }

  uint64_t scratch_bytes() const override { return scratch_bytes_; }

  Status run(int gemm, const GemmArgs& args, void* scratch) const override {
    const Entry& entry = gemms_[gemm];
    LINFORMER_TRY(check_args(entry.desc, args));
    const Call call{entry, args, static_cast<char*>(scratch)};
    if (entry.desc.layout == RightLayout::panel16) {
      GemmArgs product = args;
      product.a = left(call, 0, args.a.cols);
      multiply(entry.desc, product);
    } else {
      const int64_t width = chunk_width(entry.desc);
      for (int64_t n0 = 0; n0 < args.c.cols; n0 += width) {
        multiply_columns(call, n0, std::min(width, args.c.cols - n0));
      }
    }
    return {};
  }

 private:
  struct Call {
    const Entry& entry;
    const GemmArgs& args;
    char* scratch;
  };

  void multiply(const GemmDesc& desc, const GemmArgs& args) const {
    switch (desc.compute) {
      case ElementType::bf16:
        return kernels_.gemm_bf16(args);
      case ElementType::int8:
        return kernels_.gemm_int8(args);
      default:
        return kernels_.gemm_f32(args);
    }
  }

  // Returns columns [k0, k0 + k) of A in the type that is multiplied. If A has another type, they lie in scratch.
  LeftMatrix left(const Call& call, int64_t k0, int64_t k) const {
    const GemmDesc& desc = call.entry.desc;
    const LeftMatrix& a = call.args.a;
    const char* from = static_cast<const char*>(a.data) + k0 * element_bytes(a.type);
    if (desc.left == desc.compute) {
      LeftMatrix part = a;
      part.data = from;
      part.cols = k;
      return part;
    }
    char* to = call.scratch + call.entry.scratch.left;
    const int64_t stride = left_stride(desc);
    const ConstMatrix floats{reinterpret_cast<const float*>(from), a.rows, k, a.ld};
    if (desc.compute == ElementType::bf16) {
      kernels_.round_rows(floats, {reinterpret_cast<uint16_t*>(to), a.rows, k, stride});
    } else {
      for (int64_t i = 0; i < a.rows; ++i) {
        kernels_.widen(a.type, from + i * a.ld * element_bytes(a.type), reinterpret_cast<float*>(to) + i * stride, k);
      }
    }
    return {to, desc.compute, a.rows, k, stride};
  }

  // Packs rows [k0, k0 + k) and columns [n0, n0 + n) of B into panels in scratch.
  RightMatrix pack_block(const Call& call, int64_t k0, int64_t k, int64_t n0, int64_t n) const {
    const RightMatrix& b = call.args.b;
    char* packed = call.scratch + call.entry.scratch.packed;
    const int64_t bytes = element_bytes(b.type);
    const bool transposed = b.layout == RightLayout::transposed;
    const char* from = static_cast<const char*>(b.data) + (transposed ? n0 * b.ld + k0 : k0 * b.ld + n0) * bytes;
    ConstMatrix floats{reinterpret_cast<const float*>(from), transposed ? n : k, transposed ? k : n, b.ld};
    if (b.type != ElementType::f32) {  // B is a tied token embedding, which is always transposed.
      float* widened = reinterpret_cast<float*>(call.scratch + call.entry.scratch.widened);
      for (int64_t j = 0; j < n; ++j) {
        float* row = widened + j * k_block;
        kernels_.widen(b.type, from + j * b.ld * bytes, row, k);
        if (b.type == ElementType::int8) kernels_.scale_rows({row, 1, k, k}, b.scales + n0 + j);
      }
      floats = {widened, n, k, k_block};
    }
    if (call.entry.desc.compute == ElementType::bf16) {
      kernels_.pack_panel_bf16(floats, transposed, reinterpret_cast<uint16_t*>(packed));
    } else {
      kernels_.pack_panel(floats, transposed, reinterpret_cast<float*>(packed));
    }
    return {packed, call.entry.desc.compute, RightLayout::panel16, k, n};
  }

  // Computes columns [n0, n0 + n) of C.
  void multiply_columns(const Call& call, int64_t n0, int64_t n) const {
    const GemmDesc& desc = call.entry.desc;
    const Epilogue& asked = call.args.epilogue;
    const int64_t m = call.args.c.rows;
    const MutableMatrix c = call.args.c.floats().part(0, n0, m, n);
    const ConstMatrix residual = asked.residual.data == nullptr ? ConstMatrix{} : asked.residual.part(0, n0, m, n);
    // This depends on the declared k, so that all lengths of a varying k take the same path.
    const bool in_tile = needs_tile(desc);
    const MutableMatrix tile{reinterpret_cast<float*>(call.scratch + call.entry.scratch.tile), m, n, chunk_width(desc)};
    int64_t k0 = 0;
    do {
      const int64_t k = std::min(k_block, call.args.a.cols - k0);
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
      const RightMatrix b = pack_block(call, k0, k, n0, n);
      multiply(desc, {left(call, k0, k), b, in_tile ? tile : c, epilogue});
      k0 += k_block;
    } while (k0 < call.args.a.cols);
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

uint64_t native_scratch_bytes(const GemmDesc& desc) { return scratch_of(desc).bytes; }

Result<std::unique_ptr<GemmProvider>> make_native_provider(const Kernels& kernels) {
  std::unique_ptr<GemmProvider> provider(new (std::nothrow) NativeProvider(kernels));
  if (!provider) return Status::error(Code::out_of_memory, "no memory for the native backend");
  return Result<std::unique_ptr<GemmProvider>>(std::move(provider));
}

}  // namespace LINFORMER_NAMESPACE
