#include "gemm/openblas/openblas.h"

#include <algorithm>
#include <mutex>

#include "gemm/gemm_list.h"
#include "gemm/openblas/openblas_library.h"
#include "gemm/sgemm.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Holds a lock if OpenBLAS is a sequential build, which keeps its packing buffers in unguarded globals, so that two
// threads in it at the same time would get wrong results. The OpenMP build, which the project prefers, and the pthread
// build need no lock.
class Guard {
 public:
  explicit Guard(const OpenblasLibrary& blas) : locked_(blas.threads == OpenblasThreads::sequential) {
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

Status sgemm(const ConstMatrix& a, bool transposed, const ConstMatrix& b, float beta, const MutableMatrix& c) {
  const OpenblasLibrary& blas = opened_openblas();
  const Guard guard(blas);
  // A leading dimension must be at least the length of a row, even if there is only one row.
  blas.sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(c.rows),
             static_cast<blasint>(c.cols), static_cast<blasint>(a.cols), 1.f, a.data,
             static_cast<blasint>(std::max(a.ld, a.cols)), b.data, static_cast<blasint>(std::max(b.ld, b.cols)), beta,
             c.data, static_cast<blasint>(std::max(c.ld, c.cols)));
  return {};
}

struct Entry {
  GemmDesc desc;
};

class OpenblasProvider final : public GemmProvider {
 public:
  explicit OpenblasProvider(const Kernels& kernels) : kernels_(kernels) {}

  BackendKind kind() const override { return BackendKind::openblas; }

  Result<int> add(const GemmDesc& desc) override {
    LINFORMER_TRY(check_gemm(desc));
    if (const int known = gemms_.find(desc); known >= 0) return known;
    Result<int> id = gemms_.append({desc});
    if (id.ok()) scratch_bytes_ = std::max(scratch_bytes_, sgemm_scratch_bytes(desc));
    return id;
  }

  uint64_t scratch_bytes() const override { return scratch_bytes_; }
  int enter_thread() const override { return opened_openblas().openmp.use_one_thread(); }
  void leave_thread(int token) const override { opened_openblas().openmp.restore_threads(token); }

  Status run(int gemm, const GemmArgs& args, void* scratch) const override {
    const GemmDesc& desc = gemms_[gemm].desc;
    LINFORMER_TRY(check_args(desc, args));
    return gemm_by_sgemm(&sgemm, kernels_, desc, args, scratch);
  }

 private:
  const Kernels& kernels_;
  GemmList<Entry> gemms_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<GemmProvider>> make_openblas_provider(const Kernels& kernels, int threads) {
  if (const auto library = openblas_library(threads); !library.ok()) return add_native_backend_advice(library.status());
  std::unique_ptr<GemmProvider> provider(new (std::nothrow) OpenblasProvider(kernels));
  if (!provider) return Status::error(Code::out_of_memory, "no memory for the OpenBLAS backend");
  return Result<std::unique_ptr<GemmProvider>>(std::move(provider));
}

}  // namespace LINFORMER_NAMESPACE
