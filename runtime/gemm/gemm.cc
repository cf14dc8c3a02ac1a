#include "gemm/gemm.h"

#include <cinttypes>

#include "base/description.h"
#include "gemm/native/native.h"
#include "gemm/onednn/panel_scratch.h"
#include "gemm/sgemm.h"
#if defined(LINFORMER_HAS_ONEDNN)
#include "gemm/onednn/onednn.h"
#endif
#if defined(LINFORMER_HAS_OPENBLAS)
#include "gemm/openblas/openblas.h"
#endif

namespace LINFORMER_NAMESPACE {

bool wants_packed_activations(BackendKind kind) { return kind == BackendKind::native; }

Status check_gemm(const GemmDesc& desc) {
  constexpr int64_t largest = max_dimension;
  if (desc.max_m < 1 || desc.n < 1 || desc.k < 1 || desc.max_m > largest || desc.n > largest || desc.k > largest) {
    return Status::error(Code::invalid_argument,
                         "a matrix product of %" PRId64 " x %" PRId64 " x %" PRId64 ": each size must be 1 to %" PRId64,
                         desc.max_m, desc.n, desc.k, largest);
  }
  const bool panels = desc.layout == RightLayout::panel16;
  const bool multiplies_bf16 = desc.compute == ElementType::bf16 &&
                               (desc.type == ElementType::bf16 ? panels : desc.type == ElementType::f32) &&
                               (desc.left == ElementType::f32 || desc.left == ElementType::bf16);
  const bool multiplies_int8 =
      desc.compute == ElementType::int8 && desc.type == ElementType::int8 && panels && desc.left == ElementType::int8;
  if (desc.compute != ElementType::f32 && !multiplies_bf16 && !multiplies_int8) {
    return Status::error(Code::unsupported, "%s and %s (%s) can't be multiplied in %s", name_of(desc.left),
                         name_of(desc.type), panels ? "in panels" : "not in panels", name_of(desc.compute));
  }
  if (desc.left != ElementType::f32 && desc.left != desc.compute && panels) {
    return Status::error(Code::unsupported, "a left matrix in %s can't be multiplied by panels", name_of(desc.left));
  }
  if (desc.out != ElementType::f32 && (desc.out != ElementType::bf16 || desc.compute != ElementType::bf16 || !panels)) {
    return Status::error(Code::unsupported, "a product that is computed in %s can't write its result in %s",
                         name_of(desc.compute), name_of(desc.out));
  }
  if (desc.layout == RightLayout::row_major && desc.type != ElementType::f32) {
    return Status::error(Code::unsupported, "a row-major right matrix must be f32, not %s", name_of(desc.type));
  }
  if (desc.accumulate && (desc.bias || desc.row_bias || desc.residual || desc.activation != Activation::none)) {
    return Status::error(Code::invalid_argument, "an accumulating product takes no bias, activation or residual");
  }
  return {};
}

uint64_t planned_scratch_bytes(BackendKind kind, const GemmDesc& desc) {
  switch (kind) {
    case BackendKind::native:
      return native_scratch_bytes(desc);
    case BackendKind::onednn:
      return onednn::uses_matmul_primitives(desc) ? onednn::panel_scratch_bytes(desc) : sgemm_scratch_bytes(desc);
    case BackendKind::openblas:
      return sgemm_scratch_bytes(desc);
  }
  return 0;
}

bool has_backend(BackendKind kind) {
#if defined(LINFORMER_HAS_ONEDNN)
  if (kind == BackendKind::onednn) return true;
#endif
#if defined(LINFORMER_HAS_OPENBLAS)
  if (kind == BackendKind::openblas) return true;
#endif
  return kind == BackendKind::native;
}

Result<std::unique_ptr<GemmProvider>> make_gemm_provider(BackendKind kind, const Kernels& kernels,
                                                         [[maybe_unused]] int threads) {
  switch (kind) {
    case BackendKind::native:
      return make_native_provider(kernels);
    case BackendKind::onednn:
#if defined(LINFORMER_HAS_ONEDNN)
      return make_onednn_provider(kernels, threads);
#else
      return Status::error(Code::unsupported,
                           "this build has no oneDNN backend: build with -DLINFORMER_ONEDNN=ON or use native");
#endif
    case BackendKind::openblas:
#if defined(LINFORMER_HAS_OPENBLAS)
      return make_openblas_provider(kernels, threads);
#else
      return Status::error(Code::unsupported,
                           "this build has no OpenBLAS backend: build with -DLINFORMER_OPENBLAS=ON or use native");
#endif
  }
  return Status::error(Code::invalid_argument, "there is no backend number %d", static_cast<int>(kind));
}

}  // namespace LINFORMER_NAMESPACE
