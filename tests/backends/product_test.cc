#include <doctest/doctest.h>

#include <string>

#include "backends/product_problem.h"

using namespace linformer;
using namespace linformer_test;

namespace {

ProductShape random_shape(Random& random, int64_t max_m, int64_t n, int64_t k) {
  ProductShape shape;
  shape.max_m = max_m;
  shape.n = n;
  shape.k = k;
  shape.layout = static_cast<RightLayout>(random() % 3);
  if (shape.layout != RightLayout::row_major) shape.type = static_cast<ElementType>(random() % 3);
  shape.varying_k = shape.type == ElementType::f32 && shape.layout != RightLayout::panel16 && random() % 2 == 0;
  shape.varying_n = shape.type == ElementType::f32 && shape.layout != RightLayout::panel16 && random() % 2 == 0;
  shape.accumulate = random() % 5 == 0;
  if (!shape.accumulate) {
    shape.activation = random() % 2 == 0 ? Activation::none : all_activations[random() % 7];
    shape.bias = random() % 2 == 0;
    shape.row_bias = random() % 5 == 0;
    shape.residual = random() % 3 == 0;
  }
  return shape;
}

std::string described(const ProductShape& shape) {
  const char* layouts[] = {"panel16", "row_major", "transposed"};
  return std::string(layouts[static_cast<int>(shape.layout)]) + " " + name_of(shape.type) + " " +
         name_of(shape.activation) + (shape.bias ? " bias" : "") + (shape.row_bias ? " row_bias" : "") +
         (shape.residual ? " residual" : "") + (shape.accumulate ? " accumulate" : "") +
         (shape.varying_k ? " varying_k" : "") + (shape.varying_n ? " varying_n" : "");
}

void check_product(const Backend& backend, int id, const ProductProblem& problem, void* scratch) {
  CAPTURE(described(problem.shape));
  CAPTURE(problem.m);
  CAPTURE(problem.n);
  CAPTURE(problem.k);
  GuardedArray<float> c(problem.c_before.size());
  std::memcpy(c.data(), problem.c_before.data(), static_cast<size_t>(c.size()) * sizeof(float));
  const int token = backend.enter_thread();
  const Status status = backend.run(id, problem.product(c.data()), scratch);
  backend.leave_thread(token);
  REQUIRE_MESSAGE(status.ok(), status.message());
  REQUIRE(c.front_intact());
  double worst = 0;
  for (int64_t i = 0; i < problem.m; ++i) {
    for (int64_t j = 0; j < problem.n; ++j) {
      double slack = 0;
      const double want = problem.reference(i, j, &slack);
      const double error = std::abs(want - static_cast<double>(c[i * problem.c_stride + j])) / slack;
      if (!(error <= worst)) worst = error;
    }
    const int64_t gap = i * problem.c_stride + problem.n;
    const int64_t gap_end = std::min(gap + problem.c_stride - problem.n, c.size());
    REQUIRE(same_bits(c.data() + gap, problem.c_before.data() + gap, std::max<int64_t>(gap_end - gap, 0)));
  }
  REQUIRE(worst <= 1.);
}

}  // namespace

TEST_CASE("every backend multiplies like double arithmetic: all layouts, types and epilogues") {
  for (BackendKind kind : all_backends()) {
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(std::string(name_of(kind)));
      CAPTURE(std::string(name_of(kernels->isa)));
      Random random(7);
      auto backend = std::move(make_backend(kind, *kernels).value());
      std::vector<int> ids;
      std::vector<ProductShape> shapes;
      for (int i = 0; i < 60; ++i) {
        const int64_t k = random_size(random, 1, i % 4 == 0 ? 600 : 80);
        shapes.push_back(
            random_shape(random, random_size(random, 1, i % 5 == 0 ? 150 : 40), random_size(random, 1, 210), k));
        Result<int> id = backend->add(shapes.back());
        REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
        ids.push_back(*id);
      }
      Scratch scratch(*backend);
      for (size_t i = 0; i < shapes.size(); ++i) {
        for (int round = 0; round < 3; ++round) {
          const ProductShape& shape = shapes[i];
          const int64_t m = round == 0 ? shape.max_m : random_size(random, 1, shape.max_m);
          const int64_t n = shape.varying_n && round > 0 ? random_size(random, 1, shape.n) : shape.n;
          const int64_t k = shape.varying_k && round > 0 ? random_size(random, 1, shape.k) : shape.k;
          check_product(*backend, ids[i], ProductProblem(random, shape, m, n, k), scratch.data());
        }
      }
    }
  }
}

TEST_CASE("the shapes of an encoder") {
  const int64_t sizes[][3] = {{128, 192, 768}, {70, 3072, 96}, {33, 64, 128}, {64, 128, 64}, {128, 96, 1000}};
  for (BackendKind kind : all_backends()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(8);
    auto backend = std::move(make_backend(kind, *kernels_for(Isa::automatic)).value());
    for (const auto& size : sizes) {
      for (RightLayout layout : {RightLayout::panel16, RightLayout::row_major, RightLayout::transposed}) {
        ProductShape shape;
        shape.max_m = size[0];
        shape.n = size[1];
        shape.k = size[2];
        shape.layout = layout;
        shape.bias = true;
        shape.activation = layout == RightLayout::panel16 ? Activation::gelu : Activation::none;
        Result<int> id = backend->add(shape);
        REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
        Scratch scratch(*backend);
        for (int64_t m : {size[0], int64_t{1}, int64_t{17}}) {
          check_product(*backend, *id, ProductProblem(random, shape, m, shape.n, shape.k), scratch.data());
        }
      }
    }
  }
}

TEST_CASE("16-bit weights of many rows: a backend that widens a few columns at a time") {
  for (BackendKind kind : all_backends()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(10);
    auto backend = std::move(make_backend(kind, *kernels_for(Isa::automatic)).value());
    for (int i = 0; i < 8; ++i) {
      ProductShape shape = random_shape(random, 40, 200, 3000);
      shape.layout = RightLayout::panel16;
      shape.type = i % 2 == 0 ? ElementType::bf16 : ElementType::f16;
      shape.varying_k = shape.varying_n = false;
      Result<int> id = backend->add(shape);
      REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
      Scratch scratch(*backend);
      for (int64_t m : {int64_t{40}, int64_t{3}, int64_t{21}}) {
        ProductProblem problem(random, shape, m, shape.n, shape.k);
        check_product(*backend, *id, problem, scratch.data());
        problem.make_dense();
        check_product(*backend, *id, problem, scratch.data());
      }
    }
  }
}

TEST_CASE("any number of dense rows, with a bias and a residual that is C") {
  for (BackendKind kind : all_backends()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(11);
    auto backend = std::move(make_backend(kind, *kernels_for(Isa::automatic)).value());
    for (const bool residual : {false, true}) {
      for (const bool accumulate : {false, true}) {
        ProductShape shape;
        shape.max_m = 75;
        shape.n = 50;
        shape.k = 30;
        shape.accumulate = accumulate;
        shape.bias = !accumulate;
        shape.residual = residual && !accumulate;
        Result<int> id = backend->add(shape);
        REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
        Scratch scratch(*backend);
        for (int64_t m = 1; m <= shape.max_m; ++m) {
          ProductProblem problem(random, shape, m, shape.n, shape.k);
          problem.make_dense();
          check_product(*backend, *id, problem, scratch.data());
        }
      }
    }
  }
}

TEST_CASE("native: a row's bits don't depend on the rows and columns beside it, for every layout") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(9);
    auto backend = std::move(make_backend(BackendKind::native, *kernels).value());
    for (int round = 0; round < 40; ++round) {
      ProductShape shape = random_shape(random, random_size(random, 1, 60), random_size(random, 1, 150),
                                        random_size(random, 1, round % 3 == 0 ? 700 : 90));
      shape.varying_n = false;
      Result<int> id = backend->add(shape);
      REQUIRE(id.ok());
      Scratch scratch(*backend);
      const ProductProblem problem(random, shape, shape.max_m, shape.n, shape.k);
      GuardedArray<float> whole(problem.c_before.size()), rows(problem.c_before.size());
      std::memcpy(whole.data(), problem.c_before.data(), static_cast<size_t>(whole.size()) * sizeof(float));
      std::memcpy(rows.data(), problem.c_before.data(), static_cast<size_t>(rows.size()) * sizeof(float));
      REQUIRE(backend->run(*id, problem.product(whole.data()), scratch.data()).ok());
      for (int64_t i = 0; i < problem.m; ++i) {
        Product p = problem.product(rows.data());
        p.m = 1;
        p.a += i * p.a_stride;
        p.c += i * p.c_stride;
        if (p.epilogue.row_bias != nullptr) p.epilogue.row_bias += i;
        if (p.epilogue.residual != nullptr) p.epilogue.residual += i * p.epilogue.residual_stride;
        REQUIRE(backend->run(*id, p, scratch.data()).ok());
      }
      CAPTURE(described(shape));
      REQUIRE(same_bits(whole.data(), rows.data(), whole.size()));
    }
  }
}
