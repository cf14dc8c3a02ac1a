// What kernels are written against: blocks, warps, shared memory, barriers and shuffles, on a GPU or simulated on the
// CPU.
//
// A kernel is a struct of its parameters with
//   static constexpr int threads        of a block, a multiple of 32
//   static constexpr int blocks_at_once   optional: blocks that a multiprocessor must have registers for; else 1
//   struct Shared                       its shared memory; what it holds at first is not to be read
//   void operator()(Block<threads>& block, Shared& shared) const
// Its body is a row of phases. A phase ends in a barrier, so between phases everything that was written can be read:
//   block.each([&](int thread) {...})   all threads
//   block.each_warp([&](Warp& warp) {...}), in it warp.each_lane([&](int lane) {...}), warp.sum(...), warp.max(...)
// What is outside of them must be the same for all threads of a block, except a PerWarp, which keeps what each warp has
// for itself from one phase to the next. On a GPU a phase is the thread's own call of the function; simulated, it is a
// loop over the threads, in either order: a kernel whose result depends on it has a race.
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
  // Of value(lane) over all lanes, the same in each.
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

// What is simulated: in which order threads, warps and blocks run, on what device.
struct Simulated {
  static inline thread_local bool backwards = false;
  static inline int architecture = 90;
  static inline int allocations = -1;  // that succeed until one fails; -1: all
  static inline int uploads = 0;       // so far
  static inline int64_t products = 0;  // so far, rehearsed ones too
  // A kernel that this program has, and whether it was launched.
  struct Kernel {
    const char* name;  // within the name of a function
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
  // In the order of the shuffles.
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
  int64_t x = 1, y = 1;  // blocks
  static constexpr int64_t most_x = 0x7fffffff, most_y = 0xffff;
  bool empty() const { return x <= 0 || y <= 0; }
  bool fits() const { return x <= most_x && y <= most_y; }
};

}  // namespace LINFORMER_NAMESPACE::cuda
