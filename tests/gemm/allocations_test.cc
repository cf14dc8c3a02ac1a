// Counts the allocations of run() by replacing the C allocator of this program. The native provider never allocates,
// and the other providers allocate at most a small number of times, which runtime/gemm/README.md states.
#include "support/allocations.h"

#include <doctest/doctest.h>

#include "gemm/gemm_problem.h"
#include "support/skip.h"

namespace linformer_test::allocations_test {

using namespace linformer;

TEST_CASE("run() allocates at most as often as README.md states") {
  if (!counting_works()) {
    linformer_test::skip("this build's allocator can't be replaced");
    return;
  }
  constexpr int64_t calls = 20;
  for (BackendKind kind : all_providers()) {
    for (RightLayout layout : {RightLayout::panel16, RightLayout::row_major, RightLayout::transposed}) {
      Random random(1);
      auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
      GemmDesc desc;
      desc.max_m = 64;
      desc.n = 192;
      desc.k = 300;
      desc.layout = layout;
      desc.bias = desc.residual = true;
      const int id = provider->add(desc).value();
      Scratch scratch(*provider);
      const GemmProblem problem(random, desc, 64, 192, 300);
      GuardedArray<float> c(problem.c_before.size());
      c.fill(0.f);
      const GemmArgs args = problem.args(c.data());
      const int token = provider->enter_thread();
      REQUIRE(provider->run(id, args, scratch.data()).ok());  // The first call allocates what later calls use again.
      start_counting();
      bool ok = true;
      for (int64_t i = 0; i < calls; ++i) ok = provider->run(id, args, scratch.data()).ok() && ok;
      const Allocations counted = stop_counting();
      provider->leave_thread(token);
      REQUIRE(ok);
      std::printf("%s, layout %d: %.1f allocations and %.0f bytes a call\n", name_of(kind), static_cast<int>(layout),
                  static_cast<double>(counted.calls) / calls, static_cast<double>(counted.bytes) / calls);
      if (kind == BackendKind::native) CHECK(counted.calls == 0);
      // A call executes one primitive for dense rows and up to five for rows with other strides. Each execution builds
      // a map of its arguments.
      if (kind == BackendKind::onednn) CHECK(counted.calls <= 5 * 16 * calls);
      if (kind == BackendKind::openblas) CHECK(counted.calls <= calls);
    }
  }
}

// oneDNN's sgemm allocates a buffer for packing, and its generated code doesn't. So the counter shows if a product fell
// back to sgemm.
TEST_CASE("oneDNN multiplies 16-bit weights by generated code" * doctest::test_suite("onednn")) {
  if (!counting_works()) {
    linformer_test::skip("this build's allocator can't be replaced");
    return;
  }
  auto made = make_gemm_provider(BackendKind::onednn, *kernels_for(Isa::automatic));
  if (!made.ok() || kernels_for(Isa::avx512) == nullptr) {
    linformer_test::skip("no oneDNN in this build, or no AVX-512 here");
    return;
  }
  const GemmProvider& provider = *made.value();
  Random random(2);
  for (const int64_t n : {int64_t{64}, int64_t{320}}) {  // One chunk of columns, and several.
    GemmDesc desc;
    desc.max_m = 32;
    desc.n = n;
    desc.k = 3072;
    desc.type = ElementType::bf16;
    desc.bias = true;
    const int id = made.value()->add(desc).value();
    Scratch scratch(provider);
    GemmProblem problem(random, desc, 32, n, 3072);
    problem.make_dense();
    GuardedArray<float> c(problem.c_before.size());
    const int token = provider.enter_thread();
    REQUIRE(provider.run(id, problem.args(c.data()), scratch.data()).ok());
    start_counting();
    const bool ok = provider.run(id, problem.args(c.data()), scratch.data()).ok();
    const Allocations counted = stop_counting();
    provider.leave_thread(token);
    REQUIRE(ok);
    CHECK(counted.bytes <= 32 * 1024);
  }
}

}  // namespace linformer_test::allocations_test
