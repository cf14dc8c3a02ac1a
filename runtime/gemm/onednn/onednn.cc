#include "gemm/onednn/onednn.h"

#include <algorithm>

#include "base/shared_library.h"
#include "gemm/gemm_list.h"
#include "gemm/onednn/onednn_library.h"
#include "gemm/onednn/panel_gemm.h"
#include "gemm/onednn/panel_scratch.h"
#include "gemm/sgemm.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status sgemm(const ConstMatrix& a, bool transposed, const ConstMatrix& b, float beta, const MutableMatrix& c) {
  // A leading dimension must be at least the length of a row, even if there is only one row.
  return onednn::check(
      onednn::library().sgemm('N', transposed ? 'T' : 'N', c.rows, c.cols, a.cols, 1.f, a.data, std::max(a.ld, a.cols),
                              b.data, std::max(b.ld, b.cols), beta, c.data, std::max(c.ld, c.cols)),
      "sgemm");
}

struct Entry {
  GemmDesc desc;
  std::unique_ptr<onednn::PanelGemm> panels;  // Null if sgemm computes the product.
};

class OnednnProvider final : public GemmProvider {
 public:
  explicit OnednnProvider(const Kernels& kernels) : kernels_(kernels) {}
  ~OnednnProvider() override {
    gemms_ = {};  // Primitives must be destroyed before their engine.
    if (engine_ != nullptr) onednn::library().engine_destroy(engine_);
  }
  Status open() { return onednn::check(onednn::library().engine_create(&engine_, dnnl_cpu, 0), "engine_create"); }

  BackendKind kind() const override { return BackendKind::onednn; }
  int enter_thread() const override { return onednn::library().openmp.use_one_thread(); }
  void leave_thread(int token) const override { onednn::library().openmp.restore_threads(token); }

  Result<int> add(const GemmDesc& desc) override {
    LINFORMER_TRY(check_gemm(desc));
    if (const int known = gemms_.find(desc); known >= 0) return known;
    Entry entry{desc, nullptr};
    uint64_t bytes = planned_scratch_bytes(kind(), desc);
    if (onednn::uses_matmul_primitives(desc)) {
      entry.panels.reset(new (std::nothrow) onednn::PanelGemm);
      if (!entry.panels) return Status::error(Code::out_of_memory, "no memory for a oneDNN product");
      const int token = enter_thread();  // oneDNN generates code for the number of threads that is set.
      const Status built = entry.panels->build(engine_, desc);
      leave_thread(token);
      if (built.ok()) {
        bytes = entry.panels->scratch_bytes();
      } else if (built.code() == Code::unsupported) {
        // Without AVX-512, weights are unpacked and multiplied by sgemm, which oneDNN generates for every instruction
        // set.
        entry.panels.reset();
        bytes = std::max(bytes, sgemm_scratch_bytes(desc));
      } else {
        return built;
      }
    }
    Result<int> id = gemms_.append(std::move(entry));
    if (id.ok()) scratch_bytes_ = std::max(scratch_bytes_, bytes);
    return id;
  }

  uint64_t scratch_bytes() const override { return scratch_bytes_; }

  Status run(int gemm, const GemmArgs& args, void* scratch) const override {
    const Entry& entry = gemms_[gemm];
    LINFORMER_TRY(check_args(entry.desc, args));
    if (args.c.rows == 0 || args.c.cols == 0) return {};
    if (entry.panels) return entry.panels->run(engine_, kernels_, args, scratch);
    return gemm_by_sgemm(&sgemm, kernels_, entry.desc, args, scratch);
  }

 private:
  const Kernels& kernels_;
  dnnl_engine_t engine_ = nullptr;
  GemmList<Entry> gemms_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<GemmProvider>> make_onednn_provider(const Kernels& kernels, int threads) {
  if (const Status opened = onednn::open_library(threads); !opened.ok()) return add_native_backend_advice(opened);
  std::unique_ptr<OnednnProvider> provider(new (std::nothrow) OnednnProvider(kernels));
  if (!provider) return Status::error(Code::out_of_memory, "no memory for the oneDNN backend");
  LINFORMER_TRY(provider->open());
  return Result<std::unique_ptr<GemmProvider>>(std::move(provider));
}

}  // namespace LINFORMER_NAMESPACE
