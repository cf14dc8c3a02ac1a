// A GPU, and a stream of work on it: memory, copies, kernel launches and matrix products. If LINFORMER_CUDA_SIMULATED
// is defined (tests/cuda), the CPU simulates the device: memory is the host's, a launch is a loop over blocks, and a
// product is a loop over its elements.
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

// A GPU. Sessions and threads may share it.
class Device {
 public:
  static Result<std::unique_ptr<Device>> open(int index);
  // Returns the compute capability times 10, such as 80 for 8.0. Returns an error if the device can't be used.
  static Result<int> architecture_of(int index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Makes `device` the current device of the calling thread, and restores the previous one at the end of its life.
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
  // Allocates memory that is aligned to 256 bytes. Returns null if there is no memory.
  std::byte* allocate(uint64_t bytes) const;
  void free(std::byte* memory) const;
  // Copies host memory to the device, and returns when the copy is complete.
  Status upload(void* to, const void* from, uint64_t bytes) const;

 private:
  friend class Stream;
  Device() = default;
  int index_ = 0, architecture_ = 0;
#if !defined(LINFORMER_CUDA_SIMULATED)
  cublasLtHandle_t blas_ = nullptr;
#endif
};

// C = A B + bias, for `count` row-major matrices, with f32 accumulators.
struct Product {
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  const float* bias = nullptr;              // [n], or null. Only if C is f32.
  ElementType type = ElementType::f32;      // The type of A and B.
  ElementType out_type = ElementType::f32;  // The type of C: f32 or `type`.
  int64_t m = 0, n = 0, k = 0;
  int64_t a_ld = 0, b_ld = 0, c_ld = 0;
  bool transposed = false;  // B is a weight, [n, k]. Otherwise A is a weight, and k depends on a sequence's length.
  bool adds = false;        // Computes C += A B. Only if C is f32.
  // The rows of the largest call, for which the algorithm is chosen. If 0, those of set_usual_sizes().
  int64_t usual_m = 0;
  bool batched = false;  // `count` may differ between calls. Calls with one product then use the same algorithm, too.
  int64_t count = 1;
  int64_t a_step = 0, b_step = 0, c_step = 0;  // The number of elements from one matrix to the next.
};

// A stream of work on a device. Copies, launches and products are queued and run later, in order. Not thread-safe. The
// device must be current when functions are called.
class Stream {
 public:
  struct Options {
    void* stream = nullptr;  // The caller's cudaStream_t. If null, a stream is created.
    bool tf32 = false;       // Products in f32 may round their operands to TF32, whose fraction has 10 bits.
    bool laps = false;       // end_lap() measures times.
  };
  static Result<std::unique_ptr<Stream>> create(const Device& device, const Options& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Starts or ends a dry run. In a dry run nothing is copied or launched. Kernels are loaded, and each product chooses
  // its algorithm and runs once, on whatever the memory holds. Later calls then allocate nothing.
  void set_dry_run(bool on) { in_dry_run_ = on; }
  bool in_dry_run() const { return in_dry_run_; }
  void set_workspace(std::byte* memory, uint64_t bytes) { workspace_ = memory, workspace_bytes_ = bytes; }
  // Sets the sizes for which algorithms are chosen: the rows that weights are multiplied with, and the rows that E is
  // multiplied with, which are the K of these products.
  void set_usual_sizes(int64_t rows, int64_t depth) { rows_ = rows, depth_ = depth; }
  // Copies `rows` rows of `bytes` bytes. `to` and `from` are each in the host's or in the device's memory. The stream
  // may still read or write host memory after the function has returned, until it has finished the copy.
  Status copy(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t bytes, int64_t rows);
  Status multiply(const Product& product);
  template <class Kernel>
  Status launch(const Kernel& kernel, Grid grid);
  // Sets a mark behind the work that was queued so far. wait_for_mark() waits until the stream has reached it.
  Status mark();
  Status wait_for_mark();
  // Waits until all queued work is done. Returns its first error.
  Status wait();
  // With Options::laps, ends a lap: the work that was queued since the previous lap. read_laps() waits for the laps and
  // adds the time of each to its *seconds; a lap with a null pointer isn't counted. On a GPU a lap ends with an event,
  // so that the stream needn't wait. end_lap() calls read_laps() when many laps are unread.
  Status end_lap(double* seconds);
  Status read_laps();
  // Pins host memory, so that copies are faster. The memory stays the caller's. An error of the system is ignored.
  void pin(std::byte* memory, uint64_t bytes);

 private:
  explicit Stream(const Device& device) : device_(device) {}
  [[maybe_unused]] const Device& device_;
  bool in_dry_run_ = false;
  std::byte* workspace_ = nullptr;
  uint64_t workspace_bytes_ = 0;
  int64_t rows_ = 1, depth_ = 1;
#if defined(LINFORMER_CUDA_SIMULATED)
  double lap_began_ = 0;
#else
  // The properties of a product that decide its algorithm. The size that differs from call to call is not one of them:
  // m if B is a weight, and k if A is one.
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
  Status choose_algorithm(const Product& product, const Kind& kind, cublasLtMatmulAlgo_t* algorithm) const;

  cudaStream_t stream_ = nullptr;
  cudaEvent_t mark_ = nullptr;
  bool owns_stream_ = false, tf32_ = false;
  std::byte* pinned_ = nullptr;
  Array<Chosen> chosen_;
  // The first `laps_` laps are unread. Lap i is between the events i and i + 1.
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

// Not inlined, because tests/cuda/kernels.py lists the kernels by the symbols of this function.
template <class Kernel>
[[gnu::noinline]] Status Stream::launch(const Kernel& kernel, Grid grid) {
  if (in_dry_run_ || grid.empty()) return {};
  if (!grid.fits()) return too_many_blocks();
  simulated_kernel<Kernel>.launched = true;
  alignas(64) std::byte bytes[sizeof(typename Kernel::Shared)];
  const auto count = [](int64_t n) { return static_cast<int>(n); };
  Simulated::loop(count(grid.y), [&](int y) {
    Simulated::loop(count(grid.x), [&](int x) {
      __builtin_memset(bytes, 0xff, sizeof bytes);  // A kernel that reads shared memory before it writes it gets NaN.
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
  if (in_dry_run_) {
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
