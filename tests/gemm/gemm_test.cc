#include <doctest/doctest.h>

#include <string>

#include "gemm/gemm_problem.h"

namespace linformer_test::gemm_test {

using namespace linformer;

namespace {

std::string described(const GemmDesc& desc) {
  const char* layouts[] = {"panel16", "row_major", "transposed"};
  return std::string(layouts[static_cast<int>(desc.layout)]) + " " + name_of(desc.type) + " " +
         name_of(desc.activation) + (desc.bias ? " bias" : "") + (desc.row_bias ? " row_bias" : "") +
         (desc.residual ? " residual" : "") + (desc.accumulate ? " accumulate" : "") +
         (desc.varying_k ? " varying_k" : "") + (desc.varying_n ? " varying_n" : "");
}

void check_gemm_result(const GemmProvider& provider, int id, const GemmProblem& problem, void* scratch) {
  CAPTURE(described(problem.desc));
  CAPTURE(problem.m);
  CAPTURE(problem.n);
  CAPTURE(problem.k);
  GuardedArray<float> c(problem.c_before.size());
  std::memcpy(c.data(), problem.c_before.data(), static_cast<size_t>(c.size()) * sizeof(float));
  const int token = provider.enter_thread();
  const Status status = provider.run(id, problem.args(c.data()), scratch);
  provider.leave_thread(token);
  REQUIRE_MESSAGE(status.ok(), status.message());
  REQUIRE(c.front_intact());
  double worst = 0;
  for (int64_t i = 0; i < problem.m; ++i) {
    for (int64_t j = 0; j < problem.n; ++j) {
      double slack = 0;
      const double want = problem.reference(i, j, &slack);
      const double error = std::abs(want - static_cast<double>(c[i * problem.c_ld + j])) / slack;
      if (!(error <= worst)) worst = error;
    }
    const int64_t gap = i * problem.c_ld + problem.n;
    const int64_t gap_end = std::min(gap + problem.c_ld - problem.n, c.size());
    REQUIRE(same_bits(c.data() + gap, problem.c_before.data() + gap, std::max<int64_t>(gap_end - gap, 0)));
  }
  REQUIRE(worst <= 1.);
}

}  // namespace

TEST_CASE("every provider agrees with double arithmetic in all layouts, types and epilogues") {
  for (BackendKind kind : all_providers()) {
    for (const Kernels* kernels : all_kernels()) {
      CAPTURE(std::string(name_of(kind)));
      CAPTURE(std::string(name_of(kernels->isa)));
      Random random(7);
      auto provider = std::move(make_gemm_provider(kind, *kernels).value());
      std::vector<int> ids;
      std::vector<GemmDesc> descs;
      for (int i = 0; i < 60; ++i) {
        const int64_t k = random_size(random, 1, i % 4 == 0 ? 600 : 80);
        descs.push_back(
            random_desc(random, random_size(random, 1, i % 5 == 0 ? 150 : 40), random_size(random, 1, 210), k));
        Result<int> id = provider->add(descs.back());
        REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
        ids.push_back(*id);
      }
      Scratch scratch(*provider);
      for (size_t i = 0; i < descs.size(); ++i) {
        for (int round = 0; round < 3; ++round) {
          const GemmDesc& desc = descs[i];
          const int64_t m = round == 0 ? desc.max_m : random_size(random, 1, desc.max_m);
          const int64_t n = desc.varying_n && round > 0 ? random_size(random, 1, desc.n) : desc.n;
          const int64_t k = desc.varying_k && round > 0 ? random_size(random, 1, desc.k) : desc.k;
          check_gemm_result(*provider, ids[i], GemmProblem(random, desc, m, n, k), scratch.data());
        }
      }
    }
  }
}

TEST_CASE("every provider agrees with double arithmetic at the sizes of an encoder") {
  const int64_t sizes[][3] = {{128, 192, 768}, {70, 3072, 96}, {33, 64, 128}, {64, 128, 64}, {128, 96, 1000}};
  for (BackendKind kind : all_providers()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(8);
    auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
    for (const auto& size : sizes) {
      for (RightLayout layout : {RightLayout::panel16, RightLayout::row_major, RightLayout::transposed}) {
        GemmDesc desc;
        desc.max_m = size[0];
        desc.n = size[1];
        desc.k = size[2];
        desc.layout = layout;
        desc.bias = true;
        desc.activation = layout == RightLayout::panel16 ? Activation::gelu : Activation::none;
        Result<int> id = provider->add(desc);
        REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
        Scratch scratch(*provider);
        for (int64_t m : {size[0], int64_t{1}, int64_t{17}}) {
          check_gemm_result(*provider, *id, GemmProblem(random, desc, m, desc.n, desc.k), scratch.data());
        }
      }
    }
  }
}

TEST_CASE("16-bit weights with many rows give the right products when they are widened in chunks") {
  for (BackendKind kind : all_providers()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(10);
    auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
    for (int i = 0; i < 8; ++i) {
      GemmDesc desc = random_desc(random, 40, 200, 3000);
      desc.layout = RightLayout::panel16;
      desc.type = i % 2 == 0 ? ElementType::bf16 : ElementType::f16;
      desc.varying_k = desc.varying_n = false;
      Result<int> id = provider->add(desc);
      REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
      Scratch scratch(*provider);
      for (int64_t m : {int64_t{40}, int64_t{3}, int64_t{21}}) {
        GemmProblem problem(random, desc, m, desc.n, desc.k);
        check_gemm_result(*provider, *id, problem, scratch.data());
        problem.make_dense();
        check_gemm_result(*provider, *id, problem, scratch.data());
      }
    }
  }
}

TEST_CASE("products of any number of dense rows with a bias and C as the residual are right") {
  for (BackendKind kind : all_providers()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(11);
    auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
    for (const bool residual : {false, true}) {
      for (const bool accumulate : {false, true}) {
        GemmDesc desc;
        desc.max_m = 75;
        desc.n = 50;
        desc.k = 30;
        desc.accumulate = accumulate;
        desc.bias = !accumulate;
        desc.residual = residual && !accumulate;
        Result<int> id = provider->add(desc);
        REQUIRE_MESSAGE(id.ok(), std::string(id.status().message()));
        Scratch scratch(*provider);
        for (int64_t m = 1; m <= desc.max_m; ++m) {
          GemmProblem problem(random, desc, m, desc.n, desc.k);
          problem.make_dense();
          check_gemm_result(*provider, *id, problem, scratch.data());
        }
      }
    }
  }
}

TEST_CASE("with the native provider a row's bits don't depend on the other rows and columns, in every layout") {
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(std::string(name_of(kernels->isa)));
    Random random(9);
    auto provider = std::move(make_gemm_provider(BackendKind::native, *kernels).value());
    for (int round = 0; round < 40; ++round) {
      GemmDesc desc = random_desc(random, random_size(random, 1, 60), random_size(random, 1, 150),
                                  random_size(random, 1, round % 3 == 0 ? 700 : 90));
      desc.varying_n = false;
      Result<int> id = provider->add(desc);
      REQUIRE(id.ok());
      Scratch scratch(*provider);
      const GemmProblem problem(random, desc, desc.max_m, desc.n, desc.k);
      GuardedArray<float> whole(problem.c_before.size()), rows(problem.c_before.size());
      std::memcpy(whole.data(), problem.c_before.data(), static_cast<size_t>(whole.size()) * sizeof(float));
      std::memcpy(rows.data(), problem.c_before.data(), static_cast<size_t>(rows.size()) * sizeof(float));
      REQUIRE(provider->run(*id, problem.args(whole.data()), scratch.data()).ok());
      for (int64_t i = 0; i < problem.m; ++i) {
        GemmArgs row = problem.args(rows.data());
        row.a = row.a.floats().part(i, 0, 1, problem.k);
        row.c = row.c.floats().part(i, 0, 1, problem.n);
        Epilogue& epilogue = row.epilogue;
        if (epilogue.row_bias != nullptr) epilogue.row_bias += i;
        if (epilogue.residual.data != nullptr) epilogue.residual = epilogue.residual.part(i, 0, 1, problem.n);
        REQUIRE(provider->run(*id, row, scratch.data()).ok());
      }
      CAPTURE(described(desc));
      REQUIRE(same_bits(whole.data(), rows.data(), whole.size()));
    }
  }
}

}  // namespace linformer_test::gemm_test
