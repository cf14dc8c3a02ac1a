#include "kernels/kernels.h"

#include <initializer_list>

#include "base/cpu.h"
#include "kernels/carried.h"
#include "kernels/tables.h"

namespace LINFORMER_NAMESPACE {
namespace {

[[maybe_unused]] inline void put_bf16(const Bf16Kernels& bf16, Kernels* table) {
  table->gemm_bf16 = bf16.gemm;
  table->round_rows = bf16.round_rows;
  table->pack_panel_bf16 = bf16.pack_panel;
  table->softmax_step_bf16 = bf16.softmax_step;
}

// In the functions below, `if constexpr` discards code that names kernels that this build lacks, and the compiler emits
// no code for an inline function that nothing calls, even without optimisation. So nothing refers to kernels that don't
// exist.

[[maybe_unused]] inline bool usable(Extension extension) {
  return build_has_kernels(extension) && machine_has(extension);
}

// Returns the table of AVX-512 with the kernels of the extensions that both this build and the machine have.
[[maybe_unused]] inline Kernels compose_avx512() {
  Kernels table = avx512_kernels;
  table.gemm_int8 = avx2_kernels.gemm_int8;
  if constexpr (build_has_kernels(Extension::avx512_vnni)) {
    if (machine_has(Extension::avx512_vnni)) {
      table.gemm_int8 = avx512_gemm_int8;
      table.quantize_rows = avx512_quantize_rows;
    }
  }
  if constexpr (build_has_kernels(Extension::avx512_bf16)) {
    if (machine_has(Extension::avx512_bf16)) put_bf16(avx512_bf16_kernels, &table);
  }
  if constexpr (build_has_kernels(Extension::amx)) {
    if (machine_has(Extension::avx512_bf16) && machine_has(Extension::amx)) {
      table.gemm_bf16 = amx_gemm_bf16;
      table.gemm_int8 = amx_gemm_int8;
      // 256 rows of f32 and a slice of the feed-forward network fit into L2, which has 2 MB on machines with AMX.
      table.block_rows = 256;
    }
  }
  Processor processor = this_processor();
  processor.avx512_bf16 = usable(Extension::avx512_bf16);
  processor.amx = processor.avx512_bf16 && usable(Extension::amx);
  table.bf16 = choose_bf16(processor);
  return table;
}

[[maybe_unused]] inline Kernels compose_neon() {
  Kernels table = neon_kernels;
  if constexpr (build_has_kernels(Extension::neon_dotprod)) {
    if (machine_has(Extension::neon_dotprod)) table.gemm_int8 = neon_dotprod_gemm_int8;
  }
  if constexpr (build_has_kernels(Extension::neon_i8mm)) {
    if (machine_has(Extension::neon_i8mm)) table.gemm_int8 = neon_i8mm_gemm_int8;
  }
  if constexpr (build_has_kernels(Extension::neon_bf16)) {
    if (machine_has(Extension::neon_bf16)) put_bf16(neon_bf16_kernels, &table);
  }
  Processor processor = this_processor();
  processor.neon_bf16 = usable(Extension::neon_bf16);
  table.bf16 = choose_bf16(processor);
  return table;
}

const Kernels* table_of(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return &scalar_kernels;
    case Isa::avx2:
      if constexpr (build_has_kernels("avx2")) return &avx2_kernels;
      return nullptr;
    case Isa::avx512:
      if constexpr (build_has_kernels("avx512")) {
        static const Kernels composed = compose_avx512();
        return &composed;
      }
      return nullptr;
    case Isa::neon:
      if constexpr (build_has_kernels("neon")) {
        static const Kernels composed = compose_neon();
        return &composed;
      }
      return nullptr;
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
