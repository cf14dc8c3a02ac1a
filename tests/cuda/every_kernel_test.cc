// Launches every kernel in few calls and compares the results with the CPU's. device.sh runs this test with
// compute-sanitizer, which is slow.
#include <doctest/doctest.h>

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "base/description.h"
#include "cuda/grid.h"
#include "session/variant_answers.h"
#include "session/variants.h"
#include "support/engines.h"

namespace linformer_test::every_kernel_test {
namespace {

using namespace linformer;

constexpr uint32_t longest = 21;

// Returns models that launch the kernels that no model of variants() launches.
std::vector<Variant> further_variants() {
  std::vector<Variant> result;
  const auto add = [&](const char* name, auto change) {
    Variant variant;
    variant.name = name;
    RandomModel& shape = variant.shape;
    shape.n = longest;
    shape.k = 7;
    // The width is not a multiple of a vector's elements. For multiples, cuBLASLt would choose kernels that fail with
    // an illegal memory access on Hopper under compute-sanitizer's racecheck, although racecheck is told to check only
    // the runtime's own kernels.
    shape.d_model = 36;
    shape.ffn = 50;
    shape.heads = 1;
    shape.layers = 1;
    shape.sentence_embedding = true;
    change(shape);
    result.push_back(variant);
  };
  add("a head of 64", [](RandomModel& s) { s.head_dim = 64; });
  add("a head of 128, rows of whole vectors", [](RandomModel& s) {
    s.head_dim = 128;
    s.ffn = 72;
    s.activation = Activation::relu;
  });
  add("a head of 256", [](RandomModel& s) { s.head_dim = 256; });
  add("E of more than one slice", [](RandomModel& s) { s.n = 2100; });
  add("E after linears with biases", [](RandomModel& s) { s.order = ProjectionOrder::after_linear; });
  add("no output projection", [](RandomModel& s) { s.output_projection = false; });
  add("rotary positions", [](RandomModel& s) {
    s.kinds = {ProjectionKind::none};
    s.layer.attention.rotary_base = 10000;
  });
  add("gated FFN", [](RandomModel& s) { s.layer.gated = true; });
  add("pairs", [](RandomModel& s) {
    RandomHead head;
    head.pairing = Pairing::product_difference;
    head.kind = HeadKind::score;
    head.score_activation = Activation::sigmoid;
    s.head_classes = {1};
    s.head_kinds = {head};
  });
  return result;
}

SessionOptions with(int device) {
  SessionOptions options;
  options.cuda.device = device;
  options.cpu.isa = Isa::scalar;
  if (device < 0) options.run.compute = Compute::f32;
  return options;
}

TEST_CASE("every kernel is launched in each type, and the results are near those of the CPU") {
  if (linformer_test::engines().empty()) return;
  std::vector<Variant> variants = linformer_test::variants(longest);
  for (const Variant& variant : further_variants()) variants.push_back(variant);
  for (const auto& [type, limit] :
       {std::pair{ElementType::f32, 5e-6}, std::pair{ElementType::f16, 5e-3}, std::pair{ElementType::bf16, 4e-2}}) {
    for (Variant variant : variants) {
      variant.shape.type = type;
      CAPTURE(variant.name);
      CAPTURE(std::string(name_of(type)));
      const auto model = linformer_test::random_model(variant.shape);
      constexpr int64_t most = std::numeric_limits<int64_t>::max();  // random_texts() limits it to the model's lengths.
      const std::vector<RandomInput> texts = linformer_test::random_texts(*model, variant, {most, 3, most, most});
      const Answer cpu = run(model, variant, with(-1), texts), device = run(model, variant, with(0), texts);
      for (size_t i = 0; i < cpu.all().size(); ++i) {
        CHECK(linformer_test::max_relative_difference(*cpu.all()[i], *device.all()[i]) <= limit);
      }
    }
  }
#if defined(LINFORMER_CUDA_SIMULATED)
  int launched = 0;
  for (const cuda::Simulated::Kernel* kernel = cuda::Simulated::kernels; kernel != nullptr; kernel = kernel->next) {
    CHECK_MESSAGE(kernel->launched, std::string(kernel->name));
    launched += kernel->launched ? 1 : 0;
  }
  std::printf("%d kernels were launched\n", launched);
#endif
}

}  // namespace

}  // namespace linformer_test::every_kernel_test
