// How often run() allocates, by replacing the C allocator of this program: never on the native provider, a known
// small number of times on the others (runtime/gemm/README.md states it).
#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "gemm/gemm_problem.h"
#include "support/skip.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LINFORMER_COUNTS_ALLOCATIONS 1

namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0}, bytes{0};

void count(size_t size) {
  if (!counting.load(std::memory_order_relaxed)) return;
  allocations.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  count(size);
  return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) {
  count(number * size);
  return __libc_calloc(number, size);
}
void* realloc(void* old, size_t size) {
  count(size);
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  count(size);
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif

using namespace linformer;
using namespace linformer_test;

TEST_CASE("allocations of run()") {
#if !defined(LINFORMER_COUNTS_ALLOCATIONS)
  linformer_test::skip("this build's allocator can't be replaced");
#else
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
      REQUIRE(provider->run(id, args, scratch.data()).ok());  // what the first call sets up for good
      allocations = bytes = 0;
      counting = true;
      bool ok = true;
      for (int64_t i = 0; i < calls; ++i) ok = provider->run(id, args, scratch.data()).ok() && ok;
      counting = false;
      provider->leave_thread(token);
      REQUIRE(ok);
      std::printf("%s, layout %d: %.1f allocations and %.0f bytes a call\n", name_of(kind), static_cast<int>(layout),
                  static_cast<double>(allocations) / calls, static_cast<double>(bytes) / calls);
      if (kind == BackendKind::native) CHECK(allocations == 0);
      // One primitive for 64 dense rows, or five with others' strides; each builds its argument map anew.
      if (kind == BackendKind::onednn) CHECK(allocations <= 5 * 16 * calls);
      if (kind == BackendKind::openblas) CHECK(allocations <= calls);
    }
  }
#endif
}

// sgemm packs into a buffer of its own, generated code doesn't: a product that fell back to sgemm shows here.
TEST_CASE("oneDNN multiplies 16-bit weights by generated code" * doctest::test_suite("onednn")) {
#if !defined(LINFORMER_COUNTS_ALLOCATIONS)
  linformer_test::skip("this build's allocator can't be replaced");
#else
  auto made = make_gemm_provider(BackendKind::onednn, *kernels_for(Isa::automatic));
  if (!made.ok() || kernels_for(Isa::avx512) == nullptr) {
    linformer_test::skip("no oneDNN in this build, or no AVX-512 here");
    return;
  }
  const GemmProvider& provider = *made.value();
  Random random(2);
  for (const int64_t n : {int64_t{64}, int64_t{320}}) {  // in one chunk of columns and in several
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
    allocations = bytes = 0;
    counting = true;
    const bool ok = provider.run(id, problem.args(c.data()), scratch.data()).ok();
    counting = false;
    provider.leave_thread(token);
    REQUIRE(ok);
    CHECK(bytes <= 32 * 1024);
  }
#endif
}
