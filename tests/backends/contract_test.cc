#include <doctest/doctest.h>

#include <string>

#include "backends/product_problem.h"

using namespace linformer;
using namespace linformer_test;

TEST_CASE("a backend that is not built is an error that names the option") {
  for (BackendKind kind : {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
    auto backend = make_backend(kind, *kernels_for(Isa::automatic));
    if (backend.ok()) {
      CHECK(backend.value()->kind() == kind);
      continue;
    }
    CHECK(backend.status().code() == Code::unsupported);
    const std::string option = kind == BackendKind::onednn ? "LINFORMER_ONEDNN" : "LINFORMER_OPENBLAS";
    CHECK(std::string(backend.status().message()).find(option) != std::string::npos);
  }
  CHECK(make_backend(static_cast<BackendKind>(77), *kernels_for(Isa::scalar)).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("add refuses what no backend can do and finds equal shapes again") {
  for (BackendKind kind : all_backends()) {
    CAPTURE(std::string(name_of(kind)));
    auto backend = std::move(make_backend(kind, *kernels_for(Isa::automatic)).value());
    ProductShape good;
    good.max_m = good.n = good.k = 20;
    const Result<int> first = backend->add(good);
    REQUIRE(first.ok());
    CHECK(backend->add(good).value() == first.value());

    ProductShape bad = good;
    bad.k = 0;
    CHECK(backend->add(bad).status().code() == Code::invalid_argument);
    bad = good;
    bad.n = int64_t{1} << 40;
    CHECK(backend->add(bad).status().code() == Code::invalid_argument);
    bad = good;
    bad.accumulate = bad.bias = true;
    CHECK(backend->add(bad).status().code() == Code::invalid_argument);
    bad = good;
    bad.type = ElementType::int8;
    CHECK(backend->add(bad).status().code() == Code::unsupported);
    bad = good;
    bad.layout = RightLayout::row_major;
    bad.type = ElementType::bf16;
    CHECK(backend->add(bad).status().code() == Code::unsupported);
  }
}

TEST_CASE("run refuses sizes and epilogues that were not declared and leaves C alone") {
  Random random(1);
  for (BackendKind kind : all_backends()) {
    CAPTURE(std::string(name_of(kind)));
    auto backend = std::move(make_backend(kind, *kernels_for(Isa::automatic)).value());
    ProductShape shape;
    shape.max_m = 8;
    shape.n = 20;
    shape.k = 10;
    const int id = backend->add(shape).value();
    Scratch scratch(*backend);
    const ProductProblem problem(random, shape, 8, 20, 10);
    GuardedArray<float> c(problem.c_before.size());
    c.fill(7.f);
    Product p = problem.product(c.data());
    p.m = 9;
    CHECK(backend->run(id, p, scratch.data()).code() == Code::internal);
    p = problem.product(c.data());
    p.n = 19;
    CHECK(backend->run(id, p, scratch.data()).code() == Code::internal);
    p = problem.product(c.data());
    p.epilogue.bias = problem.bias.data();
    CHECK(backend->run(id, p, scratch.data()).code() == Code::internal);
    for (int64_t i = 0; i < c.size(); ++i) REQUIRE(c[i] == 7.f);
    p = problem.product(c.data());
    p.m = 0;
    CHECK(backend->run(id, p, scratch.data()).ok());
    for (int64_t i = 0; i < c.size(); ++i) REQUIRE(c[i] == 7.f);
  }
}
