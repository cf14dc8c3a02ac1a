#include "gemm/gemm_list.h"

#include <cinttypes>

namespace LINFORMER_NAMESPACE {

bool same_gemm(const GemmDesc& a, const GemmDesc& b) {
  return a.max_m == b.max_m && a.n == b.n && a.k == b.k && a.varying_n == b.varying_n && a.varying_k == b.varying_k &&
         a.layout == b.layout && a.type == b.type && a.left == b.left && a.compute == b.compute && a.out == b.out &&
         a.activation == b.activation && a.bias == b.bias && a.row_bias == b.row_bias && a.residual == b.residual &&
         a.accumulate == b.accumulate;
}

Status check_args(const GemmDesc& desc, const GemmArgs& args) {
  const int64_t m = args.c.rows, n = args.c.cols, k = args.a.cols;
  const bool m_fits = m >= 0 && m <= desc.max_m;
  const bool n_fits = desc.varying_n ? n >= 0 && n <= desc.n : n == desc.n;
  const bool k_fits = desc.varying_k ? k >= 0 && k <= desc.k : k == desc.k;
  const Epilogue& epilogue = args.epilogue;
  const ConstMatrix& residual = epilogue.residual;
  const bool same_epilogue = (epilogue.bias != nullptr) == desc.bias &&
                             (epilogue.row_bias != nullptr) == desc.row_bias &&
                             (residual.data != nullptr) == desc.residual && epilogue.activation == desc.activation &&
                             epilogue.accumulate == desc.accumulate;
  const bool fit_together = args.a.rows == m && args.a.type == desc.left && args.c.type == desc.out && args.b.k == k &&
                            args.b.n == n && args.b.type == desc.type && args.b.layout == desc.layout &&
                            (residual.data == nullptr || (residual.rows == m && residual.cols == n));
  if (m_fits && n_fits && k_fits && same_epilogue && fit_together) return {};
  return Status::error(Code::internal,
                       "a product of %" PRId64 " x %" PRId64 " x %" PRId64 "%s%s was declared as at most %" PRId64
                       " x %" PRId64 " x %" PRId64 ": report this as a bug",
                       m, n, k, same_epilogue ? "" : " with another epilogue",
                       fit_together ? "" : " of matrices that do not fit together", desc.max_m, desc.n, desc.k);
}

}  // namespace LINFORMER_NAMESPACE
