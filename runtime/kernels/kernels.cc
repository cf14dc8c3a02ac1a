#include "kernels/kernels.h"

#include <initializer_list>

#include "base/cpu.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)
void put_bf16(const Bf16Kernels& bf16, Kernels* table) {
  table->gemm_bf16 = bf16.gemm;
  table->round_rows = bf16.round_rows;
  table->pack_panel_bf16 = bf16.pack_panel;
  table->softmax_step_bf16 = bf16.softmax_step;
  table->native_bf16 = true;
}
#endif

#if defined(__x86_64__)
// What the machine has beside AVX-512F.
Kernels compose_avx512() {
  Kernels table = avx512_kernels;
  table.gemm_int8 = avx2_kernels.gemm_int8;
  if (machine_has(Extension::avx512_vnni)) {
    table.gemm_int8 = avx512_gemm_int8;
    table.quantize_rows = avx512_quantize_rows;
  }
  if (machine_has(Extension::avx512_bf16)) put_bf16(avx512_bf16_kernels, &table);
#if defined(LINFORMER_HAS_AMX)
  if (machine_has(Extension::avx512_bf16) && machine_has(Extension::amx)) {
    table.gemm_bf16 = amx_gemm_bf16;
    table.gemm_int8 = amx_gemm_int8;
    // Rows of f32 and a slice of the feed-forward network fit into the 2 MB of L2 that such machines have.
    table.block_rows = 256;
  }
#endif
  return table;
}
#elif defined(__aarch64__)
// What the machine has beside NEON.
Kernels compose_neon() {
  Kernels table = neon_kernels;
  if (machine_has(Extension::neon_dotprod)) table.gemm_int8 = neon_dotprod_gemm_int8;
  if (machine_has(Extension::neon_i8mm)) table.gemm_int8 = neon_i8mm_gemm_int8;
  if (machine_has(Extension::neon_bf16)) put_bf16(neon_bf16_kernels, &table);
  return table;
}
#endif

const Kernels* table_of(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return &scalar_kernels;
#if defined(__x86_64__)
    case Isa::avx2:
      return &avx2_kernels;
    case Isa::avx512: {
      static const Kernels composed = compose_avx512();
      return &composed;
    }
#elif defined(__aarch64__)
    case Isa::neon: {
      static const Kernels composed = compose_neon();
      return &composed;
    }
#endif
    default:
      return nullptr;
  }
}

}  // namespace

const Kernels* kernels_for(Isa isa) {
  if (isa != Isa::automatic) return machine_has(isa) ? table_of(isa) : nullptr;
  const Result<Isa> asked = isa_from_environment();
  if (!asked.ok()) return nullptr;
  if (*asked != Isa::automatic) return kernels_for(*asked);
  for (Isa best : {Isa::avx512, Isa::avx2, Isa::neon}) {
    if (const Kernels* table = kernels_for(best)) return table;
  }
  return &scalar_kernels;
}

}  // namespace LINFORMER_NAMESPACE
