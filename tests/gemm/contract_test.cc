#include <doctest/doctest.h>

#include <string>

#include "gemm/gemm_problem.h"

namespace linformer_test::contract_test {

using namespace linformer;

namespace {

bool is_built(BackendKind kind) {
#if defined(LINFORMER_HAS_ONEDNN)
  if (kind == BackendKind::onednn) return true;
#endif
#if defined(LINFORMER_HAS_OPENBLAS)
  if (kind == BackendKind::openblas) return true;
#endif
  return kind == BackendKind::native;
}

}  // namespace

// This test fails if the library of a backend can't be opened. Other tests skip providers that can't be created.
TEST_CASE("has_backend() returns which backends were built") {
  for (const BackendKind kind : {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
    CHECK(has_backend(kind) == is_built(kind));
  }
}

TEST_CASE("a built provider can be created, and the error for another one names the build option") {
  for (BackendKind kind : {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
    auto provider = make_gemm_provider(kind, *kernels_for(Isa::automatic));
    CAPTURE(std::string(provider.status().message()));
    CHECK(provider.ok() == is_built(kind));
    if (provider.ok()) {
      CHECK(provider.value()->kind() == kind);
      continue;
    }
    CHECK(provider.status().code() == Code::unsupported);
    const std::string option = kind == BackendKind::onednn ? "LINFORMER_ONEDNN" : "LINFORMER_OPENBLAS";
    CHECK(std::string(provider.status().message()).find(option) != std::string::npos);
  }
  CHECK(make_gemm_provider(static_cast<BackendKind>(77), *kernels_for(Isa::scalar)).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("add() refuses unsupported descriptions, and returns the same id for equal descriptions") {
  for (BackendKind kind : all_providers()) {
    CAPTURE(std::string(name_of(kind)));
    auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
    GemmDesc good;
    good.max_m = good.n = good.k = 20;
    const Result<int> first = provider->add(good);
    REQUIRE(first.ok());
    CHECK(provider->add(good).value() == first.value());

    GemmDesc bad = good;
    bad.k = 0;
    CHECK(provider->add(bad).status().code() == Code::invalid_argument);
    bad = good;
    bad.n = int64_t{1} << 40;
    CHECK(provider->add(bad).status().code() == Code::invalid_argument);
    bad = good;
    bad.accumulate = bad.bias = true;
    CHECK(provider->add(bad).status().code() == Code::invalid_argument);
    for (ElementType left : {ElementType::f32, ElementType::bf16, ElementType::int8}) {
      for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::int8}) {
        for (ElementType compute : {ElementType::bf16, ElementType::f16, ElementType::int8}) {
          const bool bf16 = compute == ElementType::bf16 && left != ElementType::int8 && type == ElementType::f32;
          if (bf16 || (left == compute && type == compute && compute == ElementType::int8)) continue;
          bad = good;
          bad.left = left;
          bad.type = type;
          bad.compute = compute;
          CHECK(provider->add(bad).status().code() == Code::unsupported);
          CHECK(check_gemm(bad).code() == Code::unsupported);
        }
      }
    }
    bad = good;
    bad.out = ElementType::bf16;
    CHECK(check_gemm(bad).code() == Code::unsupported);
    bad = good;
    bad.left = ElementType::bf16;  // In products in f32 only E may be in low precision.
    CHECK(check_gemm(bad).code() == Code::unsupported);
    bad = good;
    bad.layout = RightLayout::row_major;
    bad.type = ElementType::bf16;
    CHECK(provider->add(bad).status().code() == Code::unsupported);
  }
}

TEST_CASE("run() refuses undeclared sizes and epilogues and leaves C unchanged") {
  Random random(1);
  for (BackendKind kind : all_providers()) {
    CAPTURE(std::string(name_of(kind)));
    auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
    GemmDesc desc;
    desc.max_m = 8;
    desc.n = 20;
    desc.k = 10;
    const int id = provider->add(desc).value();
    Scratch scratch(*provider);
    const GemmProblem problem(random, desc, 8, 20, 10);
    GuardedArray<float> c(problem.c_before.size());
    c.fill(7.f);
    const auto refused = [&](auto change) {
      GemmArgs args = problem.args(c.data());
      change(args);
      return provider->run(id, args, scratch.data()).code() == Code::internal;
    };
    CHECK(refused([](GemmArgs& args) { args.a.rows = args.c.rows = 9; }));
    CHECK(refused([](GemmArgs& args) { args.b.n = args.c.cols = 19; }));
    CHECK(refused([](GemmArgs& args) { args.b.k = args.a.cols = 9; }));
    CHECK(refused([&](GemmArgs& args) { args.epilogue.bias = problem.bias.data(); }));
    CHECK(refused([](GemmArgs& args) { args.epilogue.residual = args.c.floats(); }));
    // The matrices' shapes don't match each other, or differ from the declared ones.
    CHECK(refused([](GemmArgs& args) { args.a.rows = 7; }));
    CHECK(refused([](GemmArgs& args) { args.b.n = 19; }));
    CHECK(refused([](GemmArgs& args) { args.b.k = 9; }));
    CHECK(refused([](GemmArgs& args) { args.b.layout = RightLayout::transposed; }));
    CHECK(refused([](GemmArgs& args) { args.b.type = ElementType::bf16; }));
    for (int64_t i = 0; i < c.size(); ++i) REQUIRE(c[i] == 7.f);
    GemmArgs none = problem.args(c.data());
    none.a.rows = none.c.rows = 0;
    CHECK(provider->run(id, none, scratch.data()).ok());
    for (int64_t i = 0; i < c.size(); ++i) REQUIRE(c[i] == 7.f);
  }
}

}  // namespace linformer_test::contract_test
