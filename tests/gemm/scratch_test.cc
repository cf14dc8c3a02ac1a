// Tests the scratch sizes that plan() uses without creating a provider, also of providers that this build lacks.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "gemm/gemm_problem.h"

namespace linformer_test::scratch_test {

using namespace linformer;

namespace {

constexpr BackendKind all_kinds[] = {BackendKind::native, BackendKind::onednn, BackendKind::openblas};

GemmDesc described(int64_t m, int64_t n, int64_t k, RightLayout layout, ElementType type = ElementType::f32) {
  GemmDesc desc;
  desc.max_m = m;
  desc.n = n;
  desc.k = k;
  desc.layout = layout;
  desc.type = type;
  return desc;
}

}  // namespace

TEST_CASE("scratch_bytes() is the largest planned size, and for oneDNN at least that") {
  for (BackendKind kind : all_providers()) {
    CAPTURE(std::string(name_of(kind)));
    Random random(1);
    for (int round = 0; round < 20; ++round) {
      auto provider = std::move(make_gemm_provider(kind, *kernels_for(Isa::automatic)).value());
      CHECK(provider->wants_packed_activations() == wants_packed_activations(kind));
      uint64_t planned = 0;
      CHECK(provider->scratch_bytes() == 0);
      for (int i = 0; i < 4; ++i) {
        const GemmDesc desc = random_desc(random, random_size(random, 1, 200), random_size(random, 1, 900),
                                          random_size(random, 1, i == 0 ? 2000 : 300));
        REQUIRE(provider->add(desc).ok());
        planned = std::max(planned, planned_scratch_bytes(kind, desc));
        if (kind == BackendKind::onednn) {
          CHECK(provider->scratch_bytes() >= planned);
        } else {
          CHECK(provider->scratch_bytes() == planned);
        }
      }
    }
  }
}

TEST_CASE("the planned scratch follows the formulas of README.md") {
  const auto planned = [](BackendKind kind, const GemmDesc& desc) { return planned_scratch_bytes(kind, desc) / 4; };
  GemmDesc panels = described(128, 3072, 768, RightLayout::panel16);
  CHECK(planned(BackendKind::native, panels) == 0);
  CHECK(planned(BackendKind::onednn, panels) == 16 * (768 + 3072));
  CHECK(planned(BackendKind::openblas, panels) == 256 * 768);
  GemmDesc plain = described(128, 3072, 512, RightLayout::row_major);
  CHECK(planned(BackendKind::native, plain) == 256 * 768);
  CHECK(planned(BackendKind::onednn, plain) == 0);
  CHECK(planned(BackendKind::openblas, plain) == 0);
  plain.residual = true;
  CHECK(planned(BackendKind::native, plain) == 256 * 768 + 128 * 768);
  plain.activation = Activation::relu;
  CHECK(planned(BackendKind::openblas, plain) == 128 * 256);
  GemmDesc tied = described(128, 30000, 768, RightLayout::transposed, ElementType::bf16);
  CHECK(planned(BackendKind::native, tied) == 2 * 256 * 96);
  CHECK(planned(BackendKind::openblas, tied) == 256 * 768);
}

TEST_CASE("the planned scratch saturates at UINT64_MAX instead of overflowing") {
  for (BackendKind kind : all_kinds) {
    CAPTURE(std::string(name_of(kind)));
    for (RightLayout layout : {RightLayout::panel16, RightLayout::row_major, RightLayout::transposed}) {
      for (ElementType type : {ElementType::f32, ElementType::bf16}) {
        uint64_t before = 0;
        // The sizes go far beyond those that check_gemm() accepts.
        for (int64_t size = 1; size <= int64_t{1} << 60; size *= 2) {
          GemmDesc desc = described(size, 4096, 4096, layout, type);
          desc.residual = true;
          desc.activation = Activation::gelu;
          const uint64_t now = planned_scratch_bytes(kind, desc);
          CHECK(now >= before);
          before = now;
        }
        const bool in_place =
            layout == RightLayout::panel16 &&
            (kind == BackendKind::native || (kind == BackendKind::onednn && type == ElementType::f32));
        CHECK((before == UINT64_MAX) == !in_place);
        const int64_t largest = int64_t{1} << 28;
        GemmDesc desc = described(largest, largest, largest, layout, type);
        const uint64_t bytes = planned_scratch_bytes(kind, desc);
        CHECK(bytes < uint64_t{1} << 48);
        desc.residual = true;
        desc.activation = Activation::gelu;
        CHECK(planned_scratch_bytes(kind, desc) >= bytes);
      }
    }
  }
}

}  // namespace linformer_test::scratch_test
