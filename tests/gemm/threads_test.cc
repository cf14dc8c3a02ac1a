#ifndef _WIN32
#include <dlfcn.h>
#endif
#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "gemm/gemm_problem.h"
#include "support/skip.h"

namespace linformer_test::threads_test {

using namespace linformer;

TEST_CASE("run() in several threads at once gives the same bits as in one thread") {
  for (BackendKind kind : all_providers()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(1);
    auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
    GemmDesc desc;
    desc.max_m = 40;
    desc.n = 150;
    desc.k = 300;
    desc.bias = true;
    desc.activation = Activation::gelu;
    const int panels = provider->add(desc).value();
    desc.layout = RightLayout::row_major;
    const int plain = provider->add(desc).value();
    for (int id : {panels, plain}) {
      desc.layout = id == panels ? RightLayout::panel16 : RightLayout::row_major;
      const GemmProblem problem(random, desc, 40, 150, 300);
      const auto run = [&](std::vector<float>* c) {
        Scratch scratch(*provider);
        c->assign(static_cast<size_t>(problem.c_before.size()), 0.f);
        const int token = provider->enter_thread();
        bool ok = true;
        for (int i = 0; i < 20; ++i) ok = provider->run(id, problem.args(c->data()), scratch.data()).ok() && ok;
        provider->leave_thread(token);
        if (!ok) c->clear();
      };
      std::vector<float> alone, together[4];
      run(&alone);
      std::vector<std::thread> threads;
      for (auto& c : together) threads.emplace_back(run, &c);
      for (auto& thread : threads) thread.join();
      REQUIRE(!alone.empty());
      for (const auto& c : together) {
        REQUIRE(c.size() == alone.size());
        CHECK(same_bits(c.data(), alone.data(), problem.c_before.size()));
      }
    }
  }
}

#ifndef _WIN32  // No build for Windows has oneDNN with OpenMP.
TEST_CASE("enter_thread() changes the OpenMP count of this thread only, and leave_thread() restores it" *
          doctest::test_suite("onednn")) {
  using Get = int (*)();
  using Set = void (*)(int);
  const auto provider = make_gemm_provider(BackendKind::onednn, *kernels_for(Isa::automatic));
  // The OpenMP library that oneDNN has loaded.
  void* openmp = nullptr;
  for (const char* file : {"libgomp.so.1", "libomp.so.5", "libiomp5.so"}) {
    if (openmp == nullptr) openmp = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  }
  if (!provider.ok() || openmp == nullptr) {
    linformer_test::skip("no oneDNN with OpenMP in this build");
    return;
  }
  const Get get = reinterpret_cast<Get>(dlsym(openmp, "omp_get_max_threads"));
  const Set set = reinterpret_cast<Set>(dlsym(openmp, "omp_set_num_threads"));
  set(3);
  const int token = provider.value()->enter_thread();
  CHECK(get() == 1);
  int elsewhere = 0;
  std::thread([&] {
    set(5);
    elsewhere = get();
  }).join();
  CHECK(elsewhere == 5);
  CHECK(get() == 1);
  GemmDesc desc;
  desc.max_m = desc.n = desc.k = 32;
  provider.value()->leave_thread(token);
  CHECK(get() == 3);
  CHECK(provider.value()->add(desc).ok());  // Creating primitives also restores the count.
  CHECK(get() == 3);
}
#endif

}  // namespace linformer_test::threads_test
