// The interface that kernels are written with: blocks, warps, shared memory, barriers and shuffles. It is implemented
// on a GPU, and simulated on the CPU.
//
// A kernel is a struct whose members are its parameters. It has
//   static constexpr int threads          the number of threads of a block, a multiple of 32
//   static constexpr int blocks_at_once   optional: how many blocks must fit the registers of a multiprocessor; else 1
//   struct Shared                         the shared memory, which the kernel must write before it reads it
//   void operator()(Block<threads>& block, Shared& shared) const
// The body of operator() is a sequence of phases. A phase ends with a barrier, so the next phase can read everything
// that it has written. There are two kinds of phases:
//   block.each([&](int thread) {...})        calls the function for each thread
//   block.each_warp([&](Warp& warp) {...})   calls it for each warp, in which it may call warp.each_lane([&](int lane)
//                                            {...}), warp.sum(...) and warp.max(...)
// Variables outside of phases must have the same values in all threads of a block. The exception is PerWarp, which
// keeps a value of each warp from one phase to the next. On a GPU each thread calls the function of a phase once. The
// simulation calls it in a loop over the threads, forwards or backwards. If the result of a kernel depends on this
// order, the kernel has a race.
#pragma once

#include <cstdint>

#include "linformer/version.h"

#if defined(__CUDACC__)
#define LINFORMER_DEVICE __device__ __forceinline__
#define LINFORMER_HOST_DEVICE __host__ __device__ __forceinline__
#define LINFORMER_UNROLL _Pragma("unroll")
#else
#define LINFORMER_DEVICE inline
#define LINFORMER_HOST_DEVICE inline
#define LINFORMER_UNROLL
#endif

namespace LINFORMER_NAMESPACE::cuda {

inline constexpr int warp_size = 32;

#if defined(__CUDACC__)

class Warp {
 public:
  LINFORMER_DEVICE explicit Warp(int index) : index_(index) {}
  LINFORMER_DEVICE int index() const { return index_; }
  template <class F>
  LINFORMER_DEVICE void each_lane(F&& f) const {
    f(static_cast<int>(threadIdx.x % warp_size));
    __syncwarp();
  }
  // sum() and max() return the sum and the maximum of value(lane) over all lanes. All lanes get the same result.
  template <class F>
  LINFORMER_DEVICE float sum(F&& value) const {
    float x = value(static_cast<int>(threadIdx.x % warp_size));
    for (int step = warp_size / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
  }
  template <class F>
  LINFORMER_DEVICE float max(F&& value) const {
    float x = value(static_cast<int>(threadIdx.x % warp_size));
    for (int step = warp_size / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
  }

 private:
  int index_;
};

template <int threads>
class Block {
 public:
  LINFORMER_DEVICE int x() const { return static_cast<int>(blockIdx.x); }
  LINFORMER_DEVICE int y() const { return static_cast<int>(blockIdx.y); }
  template <class F>
  LINFORMER_DEVICE void each(F&& f) {
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
  template <class F>
  LINFORMER_DEVICE void each_warp(F&& f) {
    Warp warp(static_cast<int>(threadIdx.x / warp_size));
    f(warp);
    __syncthreads();
  }
};

template <class Value, int threads>
class PerWarp {
 public:
  LINFORMER_DEVICE Value& of(const Warp&) { return value_; }

 private:
  Value value_;
};

#else

// The state of the simulated device, which tests set and read.
struct Simulated {
  static inline thread_local bool backwards = false;  // Threads, warps and blocks run in reverse order.
  static inline int architecture = 90;
  static inline int allocations = -1;  // The number of allocations that succeed before one fails. -1 if all succeed.
  static inline int uploads = 0;       // The number of uploads so far.
  static inline int64_t products = 0;  // The number of products so far, dry runs included.
  // A kernel that is compiled into this executable. Objects of this type form a list.
  struct Kernel {
    const char* name;  // The signature of a function template's instance for the kernel. It contains the kernel's name.
    bool launched = false;
    Kernel* next;
    explicit Kernel(const char* of) : name(of), next(kernels) { kernels = this; }
  };
  static inline Kernel* kernels = nullptr;
  template <class F>
  static void loop(int count, F&& f) {
    for (int i = 0; i < count; ++i) f(backwards ? count - 1 - i : i);
  }
};

class Warp {
 public:
  explicit Warp(int index) : index_(index) {}
  int index() const { return index_; }
  template <class F>
  void each_lane(F&& f) const {
    Simulated::loop(warp_size, f);
  }
  template <class F>
  float sum(F&& value) const {
    return reduced(value, [](float a, float b) { return a + b; });
  }
  template <class F>
  float max(F&& value) const {
    return reduced(value, [](float a, float b) { return a > b || b != b ? a : b; });
  }

 private:
  // Combines the values of the lanes in the order in which the shuffles on a GPU do it.
  template <class F, class Combine>
  static float reduced(F&& value, Combine&& combine) {
    float x[warp_size];
    Simulated::loop(warp_size, [&](int lane) { x[lane] = value(lane); });
    for (int step = warp_size / 2; step > 0; step /= 2) {
      for (int lane = 0; lane < step; ++lane) x[lane] = combine(x[lane], x[lane + step]);
    }
    return x[0];
  }
  int index_;
};

template <int threads>
class Block {
 public:
  Block(int x, int y) : x_(x), y_(y) {}
  int x() const { return x_; }
  int y() const { return y_; }
  template <class F>
  void each(F&& f) {
    Simulated::loop(threads, f);
  }
  template <class F>
  void each_warp(F&& f) {
    Simulated::loop(threads / warp_size, [&](int index) {
      Warp warp(index);
      f(warp);
    });
  }

 private:
  int x_, y_;
};

template <class Value, int threads>
class PerWarp {
 public:
  Value& of(const Warp& warp) { return values_[warp.index()]; }

 private:
  Value values_[threads / warp_size];
};

#endif

template <class Kernel>
constexpr int blocks_at_once() {
  if constexpr (requires { Kernel::blocks_at_once; }) {
    return Kernel::blocks_at_once;
  } else {
    return 1;
  }
}

struct Grid {
  int64_t x = 1, y = 1;  // The number of blocks in each dimension.
  static constexpr int64_t most_x = 0x7fffffff, most_y = 0xffff;
  bool empty() const { return x <= 0 || y <= 0; }
  bool fits() const { return x <= most_x && y <= most_y; }
};

}  // namespace LINFORMER_NAMESPACE::cuda
