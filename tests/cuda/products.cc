// Times the products of a layer of RoBERTa-base on cuda:0 with the fastest algorithm that cuBLASLt offers for each. The
// times are compared with those of `linformer bench --profile`, whose algorithms don't depend on the number of rows.
//   cuda_products [--n N,..] [--batch B,..] [--k K,..] [--json FILE]
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/cublas_library.h"
#include "cuda/element.h"

namespace {

using namespace linformer;

constexpr int64_t d = 768, ffn = 3072;
constexpr int algorithms = 6;
constexpr int64_t most_f32_rows = int64_t{1} << 20;
constexpr size_t workspace_bytes = size_t{32} << 20;
constexpr float long_enough = 20;  // The timed calls take together at least this many milliseconds.

void require(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
void require(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cuda::cublas().status_string(status));
}

class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) { require(cudaMalloc(&data_, bytes)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }
  void* data() const { return data_; }
  // Fills the memory with repetitions of the pattern.
  void fill(const std::vector<std::byte>& pattern) const {
    size_t filled = std::min(pattern.size(), bytes_);
    require(cudaMemcpy(data_, pattern.data(), filled, cudaMemcpyHostToDevice));
    while (filled < bytes_) {
      const size_t more = std::min(filled, bytes_ - filled);
      require(cudaMemcpy(static_cast<std::byte*>(data_) + filled, data_, more, cudaMemcpyDeviceToDevice));
      filled += more;
    }
  }

 private:
  size_t bytes_;
  void* data_ = nullptr;
};

struct Type {
  const char* name;
  cudaDataType_t cuda;
  size_t size;
};
constexpr Type types[] = {{"f16", CUDA_R_16F, 2}, {"bf16", CUDA_R_16BF, 2}, {"f32", CUDA_R_32F, 4}};

// Returns random numbers in (-1, 1). Zeros would be multiplied faster.
std::vector<std::byte> numbers(const Type& type) {
  std::vector<std::byte> bytes((size_t{1} << 20) * type.size);
  uint64_t state = 1;
  for (size_t i = 0; i < bytes.size() / type.size; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const float value = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-31f;
    cuda::Half half;
    cuda::Bf16 bf16;
    cuda::narrow_on_host(value, &half);
    cuda::narrow_on_host(value, &bf16);
    const void* const from = type.cuda == CUDA_R_32F   ? static_cast<const void*>(&value)
                             : type.cuda == CUDA_R_16F ? static_cast<const void*>(&half)
                                                       : static_cast<const void*>(&bf16);
    std::memcpy(bytes.data() + i * type.size, from, type.size);
  }
  return bytes;
}

// A row-major product C[m, n] = A[m, k] B. If `count` is 0, B is a weight stored as [n, k]. Otherwise A is E, and B is
// one matrix [k, n] for each of `count` texts.
struct Product {
  const char* name;
  int times;  // The number of these products in a layer.
  int64_t m, n, k, count;
  double flop() const {
    return 2. * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(std::max<int64_t>(count, 1));
  }
};

std::vector<Product> products_of(int64_t n, int64_t batch, int64_t k) {
  const int64_t rows = n * batch;
  return {{"query, output", 2, rows, d, d, 0},
          {"E X", 1, k, d, n, batch},
          {"keys, values", 2, batch * k, d, d, 0},
          {"feed-forward, in", 1, rows, ffn, d, 0},
          {"feed-forward, out", 1, rows, d, ffn, 0}};
}

cublasLtMatrixLayoutOpaque_t layout_of(const Type& type, int64_t rows, int64_t cols, int64_t count, int64_t step) {
  cublasLtMatrixLayoutOpaque_t layout;
  require(cuda::cublas().init_layout(&layout, sizeof layout, type.cuda, static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(cols), rows));
  if (count > 0) {
    const int32_t batches = static_cast<int32_t>(count);
    require(cuda::cublas().set_layout(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches));
    require(cuda::cublas().set_layout(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
  }
  return layout;
}

// Returns the milliseconds of the fastest algorithm among those that cuBLASLt recommends.
float best_ms(cublasLtHandle_t handle, const Type& type, const Product& p) {
  const int64_t texts = std::max<int64_t>(p.count, 1);
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements) * type.size; };
  const Memory a(bytes(p.m * p.k)), b(bytes(p.n * p.k * texts)), c(bytes(p.m * p.n * texts)),
      workspace(workspace_bytes);
  const std::vector<std::byte> pattern = numbers(type);
  a.fill(pattern);
  b.fill(pattern);
  cublasLtMatmulDescOpaque_t product;
  require(cuda::cublas().init_description(&product, sizeof product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t transposed = p.count > 0 ? CUBLAS_OP_N : CUBLAS_OP_T;
  require(cuda::cublas().set_description(&product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  // cuBLAS's matrices are column-major, so the call computes C^T = B^T A^T.
  auto left = layout_of(type, p.count > 0 ? p.n : p.k, p.count > 0 ? p.k : p.n, p.count, p.n * p.k);
  auto right = layout_of(type, p.k, p.m, p.count, 0);
  auto out = layout_of(type, p.n, p.m, p.count, p.m * p.n);
  cublasLtMatmulPreferenceOpaque_t preference;
  require(cuda::cublas().init_preference(&preference, sizeof preference));
  require(cuda::cublas().set_preference(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                        sizeof workspace_bytes));
  cublasLtMatmulHeuristicResult_t found[algorithms];
  int count = 0;
  require(cuda::cublas().get_heuristic(handle, &product, &left, &right, &out, &out, &preference, algorithms, found,
                                       &count));
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin));
  require(cudaEventCreate(&end));
  const float one = 1, zero = 0;
  float best = 0;
  for (int i = 0; i < count; ++i) {
    const auto run = [&] {
      return cuda::cublas().matmul(handle, &product, &one, b.data(), &left, a.data(), &right, &zero, c.data(), &out,
                                   c.data(), &out, &found[i].algo, workspace.data(), workspace_bytes, nullptr);
    };
    if (found[i].state != CUBLAS_STATUS_SUCCESS || run() != CUBLAS_STATUS_SUCCESS) continue;
    for (int calls = 1;; calls *= 4) {
      require(cudaEventRecord(begin));
      for (int call = 0; call < calls; ++call) require(run());
      require(cudaEventRecord(end));
      require(cudaEventSynchronize(end));
      float ms = 0;
      require(cudaEventElapsedTime(&ms, begin, end));
      if (ms < long_enough && calls < 4096) continue;
      if (best == 0 || ms / static_cast<float>(calls) < best) best = ms / static_cast<float>(calls);
      break;
    }
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  if (best == 0) throw std::runtime_error("cuBLASLt has no algorithm that computes this product");
  return best;
}

std::vector<int64_t> numbers_of(const std::string& text) {
  std::vector<int64_t> result;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) result.push_back(std::stoll(word));
  return result;
}

// Times each product of a layer. A product that fails has its error instead of a time.
nlohmann::ordered_json measure(cublasLtHandle_t handle, const Type& type, int64_t n, int64_t batch, int64_t k) {
  nlohmann::ordered_json row = {{"type", type.name}, {"n", n}, {"batch", batch}, {"k", k}};
  double layer = 0;
  std::printf("%-4s %7lld %6lld %4lld", type.name, static_cast<long long>(n), static_cast<long long>(batch),
              static_cast<long long>(k));
  for (const Product& p : products_of(n, batch, k)) {
    nlohmann::ordered_json one = {{"name", p.name}, {"m", p.m}, {"n", p.n}, {"k", p.k}, {"count", p.count}};
    try {
      const double ms = static_cast<double>(best_ms(handle, type, p)), rate = p.flop() / ms / 1e6;
      layer += p.times * ms;
      one.update({{"ms", ms}, {"gflops", rate}});
      std::printf("  %s %.1f", p.name, rate / 1e3);
    } catch (const std::runtime_error& error) {
      cudaGetLastError();  // Resets the error, which the next call would report otherwise.
      one["error"] = error.what();
      std::printf("  %s: %s", p.name, error.what());
    }
    row["products"].push_back(one);
  }
  row["layer_ms"] = layer;
  std::printf("  %.3f ms\n", layer);
  std::fflush(stdout);
  return row;
}

int run(int count, char** arguments) {
  std::vector<int64_t> lengths = {512, 4096, 16384, 65536}, batches = {1, 32}, ks = {128, 256};
  std::string path;
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i];
    if (i + 1 == count) throw std::runtime_error(name + " needs a value");
    if (name == "--n") {
      lengths = numbers_of(arguments[i + 1]);
    } else if (name == "--batch") {
      batches = numbers_of(arguments[i + 1]);
    } else if (name == "--k") {
      ks = numbers_of(arguments[i + 1]);
    } else if (name == "--json") {
      path = arguments[i + 1];
    } else {
      throw std::runtime_error("unknown option (use --n, --batch, --k or --json): " + name);
    }
  }
  const auto library = cuda::open_cublas();
  if (!library.ok()) throw std::runtime_error(library.status().message());
  cublasLtHandle_t handle = nullptr;
  require(cuda::cublas().create(&handle));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::printf("type       n  batch    k  TFLOP/s of each product, ms of a layer's\n");
  for (const int64_t n : lengths) {
    for (const int64_t batch : batches) {
      for (const int64_t k : ks) {
        for (const Type& type : types) {
          // In f32 so many rows would take half of the program's time, at the same FLOPs per second as fewer rows.
          if (type.size == 4 && n * batch > most_f32_rows) continue;
          all.push_back(measure(handle, type, n, batch, k));
          // The file is written after each row, so that it is there if the time runs out.
          if (!path.empty()) std::ofstream(path) << nlohmann::ordered_json{{"results", all}}.dump(2) << "\n";
        }
      }
    }
  }
  cuda::cublas().destroy(handle);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_products: %s\n", error.what());
    return 1;
  }
}
