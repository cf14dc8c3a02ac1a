#include "backends/onednn/onednn.h"

#include <algorithm>

#include "backends/openmp.h"
#include "backends/onednn/panel_product.h"
#include "backends/plain_gemm.h"
#include "backends/product_list.h"

namespace linformer {
namespace {

Status sgemm(bool transposed, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t a_stride,
             const float* b, int64_t b_stride, float beta, float* c, int64_t c_stride) {
  // Leading dimensions must cover a row even where there is only one.
  const int64_t b_columns = transposed ? k : n;
  return onednn::check(dnnl_sgemm('N', transposed ? 'T' : 'N', m, n, k, alpha, a, std::max(a_stride, k), b,
                                  std::max(b_stride, b_columns), beta, c, std::max(c_stride, n)),
                       "sgemm");
}

struct Entry {
  ProductShape shape;
  std::unique_ptr<onednn::PanelProduct> panels;  // null: by way of sgemm
};

class OnednnBackend final : public Backend {
 public:
  explicit OnednnBackend(const Kernels& kernels) : kernels_(kernels) {}
  ~OnednnBackend() override {
    products_ = {};  // primitives before their engine
    if (engine_ != nullptr) dnnl_engine_destroy(engine_);
  }
  Status open() { return onednn::check(dnnl_engine_create(&engine_, dnnl_cpu, 0), "engine_create"); }

  BackendKind kind() const override { return BackendKind::onednn; }
  bool wants_packed_activations() const override { return false; }
  int enter_thread() const override { return use_one_thread(); }
  void leave_thread(int token) const override { restore_threads(token); }

  Result<int> add(const ProductShape& shape) override {
    LINFORMER_TRY(check_shape(shape));
    if (const int known = products_.find(shape); known >= 0) return known;
    Entry entry{shape, nullptr};
    uint64_t bytes = plain_gemm_scratch(shape);
    if (shape.layout == RightLayout::panel16 && !shape.varying_k && !shape.varying_n) {
      entry.panels.reset(new (std::nothrow) onednn::PanelProduct);
      if (!entry.panels) return Status::error(Code::out_of_memory, "no memory for a oneDNN product");
      const int token = enter_thread();  // code is generated for the number of threads that it finds
      const Status built = entry.panels->build(engine_, shape);
      leave_thread(token);
      if (built.code() == Code::unsupported) {
        entry.panels.reset();  // no AVX-512: sgemm on unpacked weights is generated for every instruction set
      } else if (!built.ok()) {
        return built;
      } else {
        bytes = entry.panels->scratch_bytes();
      }
    }
    Result<int> id = products_.append(std::move(entry));
    if (id.ok()) scratch_bytes_ = std::max(scratch_bytes_, bytes);
    return id;
  }

  uint64_t scratch_bytes() const override { return scratch_bytes_; }

  Status run(int product, const Product& arguments, void* scratch) const override {
    const Entry& entry = products_[product];
    LINFORMER_TRY(check_arguments(entry.shape, arguments));
    if (arguments.m == 0 || arguments.n == 0) return {};
    if (entry.panels) return entry.panels->run(engine_, kernels_, arguments, scratch);
    return plain_gemm(&sgemm, kernels_, entry.shape, arguments, scratch);
  }

 private:
  const Kernels& kernels_;
  dnnl_engine_t engine_ = nullptr;
  ProductList<Entry> products_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_onednn_backend(const Kernels& kernels) {
  std::unique_ptr<OnednnBackend> backend(new (std::nothrow) OnednnBackend(kernels));
  if (!backend) return Status::error(Code::out_of_memory, "no memory for the oneDNN backend");
  LINFORMER_TRY(backend->open());
  return Result<std::unique_ptr<Backend>>(std::move(backend));
}

}  // namespace linformer
