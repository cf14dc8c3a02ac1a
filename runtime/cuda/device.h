// A GPU and a stream of work on it: memory, copies, launches, products. Simulated on the CPU where
// LINFORMER_CUDA_SIMULATED is defined (tests/cuda): memory is the host's, a launch is a loop over blocks, a product the
// plain sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/array.h"
#include "cuda/grid.h"
#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

#if !defined(LINFORMER_CUDA_SIMULATED)
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#endif

namespace LINFORMER_NAMESPACE::cuda {

// Shared by sessions and threads.
class Device {
 public:
  static Result<std::unique_ptr<Device>> open(int index);
  // Of a device that can be used: 8.0 is 80.
  static Result<int> architecture_of(int index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The calling thread's current device, for as long as it lives; then what it was before.
  class Current {
   public:
    explicit Current(const Device& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    int before_ = -1;
  };

  int index() const { return index_; }
  int architecture() const { return architecture_; }
  // 256-byte aligned; null where there is none.
  std::byte* allocate(uint64_t bytes) const;
  void free(std::byte* memory) const;
  // Done when it returns.
  Status upload(void* to, const void* from, uint64_t bytes) const;

 private:
  friend class Stream;
  Device() = default;
  int index_ = 0, architecture_ = 0;
#if !defined(LINFORMER_CUDA_SIMULATED)
  cublasLtHandle_t blas_ = nullptr;
#endif
};

// C = A B + bias, `count` times: row-major, f32 sums. In C's own type; where C is f32 it may be added to.
struct Product {
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  const float* bias = nullptr;              // [n], where C is f32
  ElementType type = ElementType::f32;      // of A and B
  ElementType out_type = ElementType::f32;  // of C: f32, or `type`
  int64_t m = 0, n = 0, k = 0;
  int64_t a_ld = 0, b_ld = 0, c_ld = 0;
  bool transposed = false;  // B is a weight, [n, k]; else A is one and k is a sequence's
  bool adds = false;        // C += A B
  int64_t usual_m = 0;      // rows of the largest call, which the algorithm is chosen for; 0: those of set_shapes()
  bool batched = false;     // `count` may be more than 1 in other calls: products of one kind have one algorithm
  int64_t count = 1;
  int64_t a_step = 0, b_step = 0, c_step = 0;  // elements from one product to the next
};

// What is asked of it is done in order, later. Not thread-safe; its device is to be current.
class Stream {
 public:
  struct Options {
    void* stream = nullptr;  // the caller's cudaStream_t; null: one of its own
    bool tf32 = false;       // products in f32 may round their operands to 10 bits
    bool laps = false;       // times are taken
  };
  static Result<std::unique_ptr<Stream>> create(const Device& device, const Options& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Until `false`: nothing is copied or launched; products choose their algorithms and run once each, on whatever the
  // memory holds, and kernels are loaded. So nothing is allocated later.
  void rehearse(bool on) { rehearses_ = on; }
  bool rehearses() const { return rehearses_; }
  void set_workspace(std::byte* memory, uint64_t bytes) { workspace_ = memory, workspace_bytes_ = bytes; }
  // What algorithms are chosen for: `rows` of what weights multiply, `depth` of what E multiplies.
  void set_shapes(int64_t rows, int64_t depth) { rows_ = rows, depth_ = depth; }
  // Rows of `bytes` bytes, on either side in the host's memory or the device's. The host's may be read or written until
  // the stream has come so far.
  Status copy(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t bytes, int64_t rows);
  Status multiply(const Product& product);
  template <class Kernel>
  Status launch(const Kernel& kernel, Grid grid);
  // A point to wait for.
  Status mark();
  Status wait_for_mark();
  // For all that was asked for so far; the first error of it.
  Status wait();
  // With Options::laps: what was asked for since the lap before ends here. read_laps() waits, and adds the time of each
  // lap to its *seconds; null: nobody's. On a GPU a lap ends in an event, so that nobody waits between laps; when many
  // are unread they are read.
  Status lap(double* seconds);
  Status read_laps();
  // Faster copies; the memory stays the caller's. Nothing happens where the system refuses.
  void pin(std::byte* memory, uint64_t bytes);

 private:
  explicit Stream(const Device& device) : device_(device) {}
  [[maybe_unused]] const Device& device_;
  bool rehearses_ = false;
  std::byte* workspace_ = nullptr;
  uint64_t workspace_bytes_ = 0;
  int64_t rows_ = 1, depth_ = 1;
#if defined(LINFORMER_CUDA_SIMULATED)
  double lap_began_ = 0;
#else
  // What an algorithm depends on: never the number of rows, which differs from call to call.
  struct Kind {
    ElementType type, out_type;
    bool transposed, adds, batched, bias;
    uint32_t a_alignment, b_alignment, c_alignment;
    int64_t side, width, a_ld, b_ld, c_ld, usual_m;
    bool operator==(const Kind&) const = default;
  };
  static Kind kind_of(const Product& product);
  struct Chosen {
    Kind kind;
    cublasLtMatmulAlgo_t algorithm;
  };
  struct Description;
  Status choose(const Product& product, const Kind& kind, cublasLtMatmulAlgo_t* algorithm) const;

  cudaStream_t stream_ = nullptr;
  cudaEvent_t mark_ = nullptr;
  bool owns_stream_ = false, tf32_ = false;
  std::byte* pinned_ = nullptr;
  Array<Chosen> chosen_;
  // The first `laps_` laps are unread: they are between the events i and i + 1.
  struct Lap {
    cudaEvent_t begin = nullptr;
    double* seconds = nullptr;
  };
  Array<Lap> lap_events_;
  size_t laps_ = 0;
#endif
};

inline Status too_many_blocks() {
  return Status::error(Code::too_long, "a call has too many texts of too different lengths for a GPU: split it");
}

#if defined(LINFORMER_CUDA_SIMULATED)

template <class Kernel>
const char* simulated_name() {
  return __PRETTY_FUNCTION__;
}
template <class Kernel>
inline Simulated::Kernel simulated_kernel(simulated_name<Kernel>());

// Not inlined: tests/cuda/kernels.py reads from the symbols which kernels there are.
template <class Kernel>
[[gnu::noinline]] Status Stream::launch(const Kernel& kernel, Grid grid) {
  if (rehearses_ || grid.empty()) return {};
  if (!grid.fits()) return too_many_blocks();
  simulated_kernel<Kernel>.launched = true;
  alignas(64) std::byte bytes[sizeof(typename Kernel::Shared)];
  const auto count = [](int64_t n) { return static_cast<int>(n); };
  Simulated::loop(count(grid.y), [&](int y) {
    Simulated::loop(count(grid.x), [&](int x) {
      __builtin_memset(bytes, 0xff, sizeof bytes);  // NaN, whoever reads it
      Block<Kernel::threads> block(x, y);
      kernel(block, *reinterpret_cast<typename Kernel::Shared*>(bytes));
    });
  });
  return {};
}

#elif defined(__CUDACC__)

Status launch_error(const char* what, int code);

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, blocks_at_once<Kernel>()) run_kernel(const Kernel kernel) {
  extern __shared__ __align__(64) unsigned char bytes[];
  Block<Kernel::threads> block;
  kernel(block, *reinterpret_cast<typename Kernel::Shared*>(bytes));
}

template <class Kernel>
Status Stream::launch(const Kernel& kernel, Grid grid) {
  constexpr int bytes = static_cast<int>(sizeof(typename Kernel::Shared));
  constexpr int without_asking = 48 * 1024;
  if (rehearses_) {
    cudaFuncAttributes attributes;
    const cudaError_t loaded = cudaFuncGetAttributes(&attributes, run_kernel<Kernel>);
    if (loaded != cudaSuccess) return launch_error("cudaFuncGetAttributes", loaded);
    return {};
  }
  if (grid.empty()) return {};
  if (!grid.fits()) return too_many_blocks();
  if constexpr (bytes > without_asking) {
    const cudaError_t set =
        cudaFuncSetAttribute(run_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (set != cudaSuccess) return launch_error("cudaFuncSetAttribute", set);
  }
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y));
  void* arguments[] = {const_cast<Kernel*>(&kernel)};
  const cudaError_t status = cudaLaunchKernel(reinterpret_cast<const void*>(&run_kernel<Kernel>), blocks,
                                              dim3(Kernel::threads), arguments, bytes, stream_);
  return status == cudaSuccess ? Status() : launch_error("a kernel's launch", status);
}

#endif

}  // namespace LINFORMER_NAMESPACE::cuda
