// Implements Device and Stream on a GPU, with the CUDA runtime and cuBLASLt.
#include <new>
#include <utility>

#include "base/types.h"
#include "cuda/cublas_library.h"
#include "cuda/device.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

constexpr size_t most_laps = 1024;  // The limit of unread laps.

Status blas_error(const char* what, cublasStatus_t status) {
  return Status::error(Code::internal, "%s failed: %s", what, cublas().status_string(status));
}

cudaDataType_t data_type(ElementType type) {
  return type == ElementType::f16 ? CUDA_R_16F : type == ElementType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Describes a row-major matrix to cuBLASLt, which sees it as its transpose in column-major order.
cublasStatus_t layout_of(cublasLtMatrixLayoutOpaque_t* layout, ElementType type, int64_t rows, int64_t cols, int64_t ld,
                         const Product& p, int64_t step) {
  cublasStatus_t status = cublas().init_layout(layout, sizeof *layout, data_type(type), static_cast<uint64_t>(cols),
                                               static_cast<uint64_t>(rows), ld);
  if (status != CUBLAS_STATUS_SUCCESS || !p.batched) return status;
  const int32_t batches = static_cast<int32_t>(p.count);
  status = cublas().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return cublas().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
}

}  // namespace

Status launch_error(const char* what, int code) {
  if (code == cudaErrorNoKernelImageForDevice) {
    return Status::error(Code::unsupported,
                         "this build has no kernels for this device: configure it with the device's architecture in "
                         "CMAKE_CUDA_ARCHITECTURES");
  }
  return Status::error(Code::internal, "%s failed: %s", what, cudaGetErrorString(static_cast<cudaError_t>(code)));
}

Device::Current::Current(const Device& device) {
  if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
  if (before_ != device.index_) cudaSetDevice(device.index_);
}

Device::Current::~Current() {
  int now = before_;
  if (before_ >= 0 && cudaGetDevice(&now) == cudaSuccess && now != before_) cudaSetDevice(before_);
}

Result<int> Device::architecture_of(int index) {
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted != cudaSuccess || devices == 0) {
    return Status::error(Code::unsupported, "no CUDA device can be used (%s): install its driver, or use the CPU",
                         counted == cudaSuccess ? "there is none" : cudaGetErrorString(counted));
  }
  if (index >= devices) {
    return Status::error(Code::invalid_argument, "there is no device cuda:%d: this machine has %d, from cuda:0 on",
                         index, devices);
  }
  int major = 0, minor = 0;
  cudaError_t status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index);
  if (status != cudaSuccess) return launch_error("cudaDeviceGetAttribute", status);
  if (major < 7) {
    return Status::error(Code::unsupported, "cuda:%d has compute capability %d.%d, and 7.0 is the least: use the CPU",
                         index, major, minor);
  }
  return 10 * major + minor;
}

Result<std::unique_ptr<Device>> Device::open(int index) {
  const Result<int> architecture = architecture_of(index);
  if (!architecture.ok()) return architecture.status();
  std::unique_ptr<Device> made(new (std::nothrow) Device);
  if (!made) return Status::error(Code::out_of_memory, "no memory for a device");
  made->index_ = index;
  made->architecture_ = *architecture;
  const Current current(*made);
  const Result<const CublasLibrary*> library = open_cublas();
  if (!library.ok()) return library.status();
  const cublasStatus_t created = cublas().create(&made->blas_);
  if (created != CUBLAS_STATUS_SUCCESS) return blas_error("cublasLtCreate", created);
  return Result<std::unique_ptr<Device>>(std::move(made));
}

Device::~Device() {
  const Current current(*this);
  if (blas_ != nullptr) cublas().destroy(blas_);
}

std::byte* Device::allocate(uint64_t bytes) const {
  const Current current(*this);
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes > 0 ? bytes : 1) == cudaSuccess) return static_cast<std::byte*>(memory);
  cudaGetLastError();  // Clears the error, which the next call would return otherwise.
  return nullptr;
}

void Device::free(std::byte* memory) const {
  const Current current(*this);
  if (memory != nullptr) cudaFree(memory);
}

Status Device::upload(void* to, const void* from, uint64_t bytes) const {
  const Current current(*this);
  cudaError_t status = cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
  if (status == cudaSuccess) status = cudaStreamSynchronize(cudaStreamLegacy);
  return status == cudaSuccess ? Status() : launch_error("cudaMemcpy", status);
}

Result<std::unique_ptr<Stream>> Stream::create(const Device& device, const Options& options) {
  std::unique_ptr<Stream> made(new (std::nothrow) Stream(device));
  if (!made) return Status::error(Code::out_of_memory, "no memory for a stream");
  const Device::Current current(device);
  made->tf32_ = options.tf32;
  made->stream_ = static_cast<cudaStream_t>(options.stream);
  cudaError_t status = cudaSuccess;
  if (options.stream == nullptr) {
    status = cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking);
    made->owns_stream_ = status == cudaSuccess;
  }
  if (status == cudaSuccess) status = cudaEventCreateWithFlags(&made->mark_, cudaEventDisableTiming);
  if (status != cudaSuccess) return launch_error("cudaStreamCreateWithFlags", status);
  if (!options.laps) return Result<std::unique_ptr<Stream>>(std::move(made));
  if (!made->lap_events_.try_resize(most_laps + 1))
    return Status::error(Code::out_of_memory, "no memory for a profile");
  for (Lap& lap : made->lap_events_) {
    status = cudaEventCreate(&lap.begin);
    if (status != cudaSuccess) return launch_error("cudaEventCreate", status);
  }
  status = cudaEventRecord(made->lap_events_[0].begin, made->stream_);
  if (status != cudaSuccess) return launch_error("cudaEventRecord", status);
  return Result<std::unique_ptr<Stream>>(std::move(made));
}

Stream::~Stream() {
  const Device::Current current(device_);
  if (mark_ != nullptr) cudaStreamSynchronize(stream_);  // Queued work may still use the session's memory.
  if (pinned_ != nullptr) cudaHostUnregister(pinned_);
  if (mark_ != nullptr) cudaEventDestroy(mark_);
  for (const Lap& lap : lap_events_) {
    if (lap.begin != nullptr) cudaEventDestroy(lap.begin);
  }
  if (owns_stream_) cudaStreamDestroy(stream_);
}

void Stream::pin(std::byte* memory, uint64_t bytes) {
  if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess) {
    pinned_ = memory;
  } else {
    cudaGetLastError();
  }
}

Status Stream::copy(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t bytes, int64_t rows) {
  if (in_dry_run_ || bytes == 0 || rows == 0) return {};
  const bool together = rows == 1 || (to_step == bytes && from_step == bytes);
  const cudaError_t status =
      together ? cudaMemcpyAsync(to, from, static_cast<size_t>(bytes * rows), cudaMemcpyDefault, stream_)
               : cudaMemcpy2DAsync(to, static_cast<size_t>(to_step), from, static_cast<size_t>(from_step),
                                   static_cast<size_t>(bytes), static_cast<size_t>(rows), cudaMemcpyDefault, stream_);
  return status == cudaSuccess ? Status() : launch_error("cudaMemcpyAsync", status);
}

Status Stream::mark() {
  if (in_dry_run_) return {};
  const cudaError_t status = cudaEventRecord(mark_, stream_);
  return status == cudaSuccess ? Status() : launch_error("cudaEventRecord", status);
}

Status Stream::wait_for_mark() {
  const cudaError_t status = cudaEventSynchronize(mark_);
  return status == cudaSuccess ? Status() : launch_error("cudaEventSynchronize", status);
}

Status Stream::wait() {
  const cudaError_t status = cudaStreamSynchronize(stream_);
  return status == cudaSuccess ? Status() : launch_error("cudaStreamSynchronize", status);
}

Status Stream::end_lap(double* seconds) {
  if (in_dry_run_) return {};
  if (laps_ + 1 == lap_events_.size()) LINFORMER_TRY(read_laps());
  lap_events_[laps_].seconds = seconds;
  const cudaError_t status = cudaEventRecord(lap_events_[laps_ + 1].begin, stream_);
  if (status != cudaSuccess) return launch_error("cudaEventRecord", status);
  ++laps_;
  return {};
}

Status Stream::read_laps() {
  if (laps_ == 0) return {};
  cudaError_t status = cudaEventSynchronize(lap_events_[laps_].begin);
  for (size_t i = 0; i < laps_ && status == cudaSuccess; ++i) {
    float milliseconds = 0;
    status = cudaEventElapsedTime(&milliseconds, lap_events_[i].begin, lap_events_[i + 1].begin);
    if (lap_events_[i].seconds != nullptr) *lap_events_[i].seconds += static_cast<double>(milliseconds) * 1e-3;
  }
  // The next lap begins where the last one ended.
  std::swap(lap_events_[0].begin, lap_events_[laps_].begin);
  laps_ = 0;
  return status == cudaSuccess ? Status() : launch_error("cudaEventElapsedTime", status);
}

// The description of a product for cuBLASLt. In its column-major order the product is C^T = B^T A^T.
struct Stream::Description {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t left, right, out;

  cublasStatus_t init(const Product& p, bool tf32) {
    const bool rounds = tf32 && p.type == ElementType::f32;
    cublasStatus_t status = cublas().init_description(
        &product, sizeof product, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const auto set = [&](cublasLtMatmulDescAttributes_t what, const auto& value) {
      if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublas().set_description(&product, what, &value, sizeof value);
      }
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    }
    const auto lay_out = [&](cublasLtMatrixLayoutOpaque_t* layout, ElementType type, int64_t rows, int64_t cols,
                             int64_t ld, int64_t step) {
      if (status == CUBLAS_STATUS_SUCCESS) status = layout_of(layout, type, rows, cols, ld, p, step);
    };
    lay_out(&left, p.type, p.transposed ? p.n : p.k, p.transposed ? p.k : p.n, p.b_ld, p.b_step);
    lay_out(&right, p.type, p.m, p.k, p.a_ld, p.a_step);
    lay_out(&out, p.out_type, p.m, p.n, p.c_ld, p.c_step);
    return status;
  }
};

Stream::Kind Stream::kind_of(const Product& p) {
  constexpr int64_t vector = 16;
  const auto alignment = [&](const void* data, ElementType type, int64_t ld, int64_t step) {
    const int64_t size = element_bytes(type);
    const bool whole = reinterpret_cast<uintptr_t>(data) % vector == 0 && ld * size % vector == 0 &&
                       (!p.batched || step * size % vector == 0);
    return static_cast<uint32_t>(whole ? vector : size);
  };
  return {p.type,
          p.out_type,
          p.transposed,
          p.adds,
          p.batched,
          p.bias != nullptr,
          alignment(p.a, p.type, p.a_ld, p.a_step),
          alignment(p.b, p.type, p.b_ld, p.b_step),
          alignment(p.c, p.out_type, p.c_ld, p.c_step),
          p.transposed ? p.k : p.m,
          p.n,
          p.a_ld,
          p.b_ld,
          p.c_ld,
          p.usual_m};
}

// Chooses the algorithm of a product. Algorithms that split K among blocks are excluded, because the split, and so the
// rounding, would depend on the number of rows.
Status Stream::choose_algorithm(const Product& product, const Kind& kind, cublasLtMatmulAlgo_t* algorithm) const {
  Description d;
  cublasStatus_t status = d.init(product, tf32_);
  cublasLtMatmulPreferenceOpaque_t preference;
  if (status == CUBLAS_STATUS_SUCCESS) status = cublas().init_preference(&preference, sizeof preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublas().set_preference(&preference, what, &value, sizeof value);
    }
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes_);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kind.b_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kind.a_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kind.c_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kind.c_alignment);
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublas().get_heuristic(device_.blas_, &d.product, &d.left, &d.right, &d.out, &d.out, &preference, 1,
                                    &result, &found);
  }
  if (status == CUBLAS_STATUS_SUCCESS) status = found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : result.state;
  if (status != CUBLAS_STATUS_SUCCESS) return blas_error("cublasLtMatmulAlgoGetHeuristic", status);
  *algorithm = result.algo;
  return {};
}

Status Stream::multiply(const Product& p) {
  Description d;
  cublasStatus_t status = d.init(p, tf32_);
  if (status != CUBLAS_STATUS_SUCCESS) return blas_error("cublasLtMatmulDescInit", status);
  const Kind kind = kind_of(p);
  const Chosen* known = nullptr;
  for (const Chosen& chosen : chosen_) {
    if (chosen.kind == kind) known = &chosen;
  }
  if (in_dry_run_ && known != nullptr) return {};
  Chosen made{kind, {}};
  if (known == nullptr) {
    Product usual = p;  // The algorithm is chosen for the usual sizes, so that it doesn't depend on the first call.
    (p.transposed ? usual.m : usual.k) = p.usual_m > 0 ? p.usual_m : p.transposed ? rows_ : depth_;
    usual.count = 1;
    LINFORMER_TRY(choose_algorithm(usual, kind, &made.algorithm));
    known = &made;
    if (in_dry_run_ && !chosen_.try_push(made))
      return Status::error(Code::out_of_memory, "no memory for the list of the products' algorithms");
  }
  const float one = 1, beta = p.adds ? 1.f : 0.f;
  const auto run = [&](const cublasLtMatmulAlgo_t& algorithm) {
    return cublas().matmul(device_.blas_, &d.product, &one, p.b, &d.left, p.a, &d.right, &beta, p.c, &d.out, p.c,
                           &d.out, &algorithm, workspace_, workspace_bytes_, stream_);
  };
  status = run(known->algorithm);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) {
    LINFORMER_TRY(choose_algorithm(p, kind, &made.algorithm));  // The usual algorithm can't compute this shape.
    status = run(made.algorithm);
  }
  return status == CUBLAS_STATUS_SUCCESS ? Status() : blas_error("cublasLtMatmul", status);
}

}  // namespace LINFORMER_NAMESPACE::cuda
