#include <doctest/doctest.h>

#include <cstdlib>

#include "base/cpu.h"
#include "kernels/carried.h"
#include "kernels/kernel_support.h"
#include "support/environment.h"

namespace linformer_test::dispatch_test {

using namespace linformer;

TEST_CASE("kernels_for() returns the requested table, the environment's table or the best one") {
  for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
    const Kernels* table = kernels_for(isa);
    const bool carried = isa == Isa::scalar || build_has_kernels(name_of(isa));
    CHECK((table != nullptr) == (carried && machine_has(isa)));
    if (table != nullptr) CHECK(table->isa == isa);
  }
  const char* kept = std::getenv("LINFORMER_ISA");
  const std::string before = kept == nullptr ? "" : kept;
  for (const Kernels* table : linformer_test::all_kernels()) {
    set_environment("LINFORMER_ISA", name_of(table->isa));
    CHECK(kernels_for(Isa::automatic) == table);
    CHECK(kernels_for(Isa::scalar)->isa == Isa::scalar);
  }
  const Kernels* best = linformer_test::all_kernels().back();
  for (Isa isa : {Isa::avx2, Isa::avx512, Isa::neon}) {
    set_environment("LINFORMER_ISA", name_of(isa));
    CHECK(kernels_for(Isa::automatic) == kernels_for(isa));
    CHECK(kernels_for(Isa::scalar) != nullptr);  // The environment only decides for `automatic`.
  }
  set_environment("LINFORMER_ISA", "no such set");
  CHECK(kernels_for(Isa::automatic) == nullptr);
  CHECK(kernels_for(best->isa) == best);
  set_environment("LINFORMER_ISA", "");
  CHECK(kernels_for(Isa::automatic) == best);
  set_environment("LINFORMER_ISA", nullptr);
  CHECK(kernels_for(Isa::automatic) == best);
  set_environment("LINFORMER_ISA", kept == nullptr ? nullptr : before.c_str());
}

TEST_CASE("a table has kernels for bf16 if the machine has instructions for it") {
  for (const Kernels* table : linformer_test::all_kernels()) {
    const auto usable = [](Extension extension) { return build_has_kernels(extension) && machine_has(extension); };
    const bool x86 = table->isa == Isa::avx512 && usable(Extension::avx512_bf16);
    const bool multiplies_bf16 = x86 || (table->isa == Isa::neon && usable(Extension::neon_bf16));
    const auto has = [](auto kernel) { return kernel != nullptr; };
    CHECK(has(table->gemm_int8));
    if (table->isa == Isa::scalar) continue;
    CHECK(has(table->gemm_bf16) == multiplies_bf16);
    CHECK(has(table->round_rows) == multiplies_bf16);
    CHECK(has(table->pack_panel_bf16) == multiplies_bf16);
    CHECK(has(table->softmax_step_bf16) == multiplies_bf16);
    if (table->bf16.faster) CHECK(multiplies_bf16);
  }
}

}  // namespace linformer_test::dispatch_test
