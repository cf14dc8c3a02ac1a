#include "backends/openblas/openblas.h"

#include <cblas.h>

#include <algorithm>
#include <mutex>

#include "backends/openmp.h"
#include "backends/plain_gemm.h"
#include "backends/product_list.h"

namespace linformer {
namespace {

// What openblas_get_parallel() says of the library that was loaded.
constexpr int sequential_build = 0, openmp_build = 2;

// A sequential OpenBLAS keeps its packing buffers in unguarded globals, so two threads inside it at once give wrong
// numbers. The OpenMP build (which the project prefers) and the pthread build take care of that themselves.
class Guard {
 public:
  Guard() : locked_(openblas_get_parallel() == sequential_build) {
    if (locked_) mutex().lock();
  }
  ~Guard() {
    if (locked_) mutex().unlock();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex only;
    return only;
  }
  bool locked_;
};

Status sgemm(bool transposed, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t a_stride,
             const float* b, int64_t b_stride, float beta, float* c, int64_t c_stride) {
  // Leading dimensions must cover a row even where there is only one.
  const int64_t b_columns = transposed ? k : n;
  const Guard guard;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), alpha, a, static_cast<blasint>(std::max(a_stride, k)),
              b, static_cast<blasint>(std::max(b_stride, b_columns)), beta, c,
              static_cast<blasint>(std::max(c_stride, n)));
  return {};
}

struct Entry {
  ProductShape shape;
};

class OpenblasBackend final : public Backend {
 public:
  explicit OpenblasBackend(const Kernels& kernels) : kernels_(kernels) {}

  BackendKind kind() const override { return BackendKind::openblas; }
  bool wants_packed_activations() const override { return false; }

  Result<int> add(const ProductShape& shape) override {
    LINFORMER_TRY(check_shape(shape));
    if (const int known = products_.find(shape); known >= 0) return known;
    Result<int> id = products_.append({shape});
    if (id.ok()) scratch_bytes_ = std::max(scratch_bytes_, plain_gemm_scratch(shape));
    return id;
  }

  uint64_t scratch_bytes() const override { return scratch_bytes_; }
  int enter_thread() const override { return openblas_get_parallel() == openmp_build ? use_one_thread() : 0; }
  void leave_thread(int token) const override { restore_threads(token); }

  Status run(int product, const Product& arguments, void* scratch) const override {
    const ProductShape& shape = products_[product].shape;
    LINFORMER_TRY(check_arguments(shape, arguments));
    return plain_gemm(&sgemm, kernels_, shape, arguments, scratch);
  }

 private:
  const Kernels& kernels_;
  ProductList<Entry> products_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_openblas_backend(const Kernels& kernels) {
  std::unique_ptr<Backend> backend(new (std::nothrow) OpenblasBackend(kernels));
  if (!backend) return Status::error(Code::out_of_memory, "no memory for the OpenBLAS backend");
  return Result<std::unique_ptr<Backend>>(std::move(backend));
}

}  // namespace linformer
