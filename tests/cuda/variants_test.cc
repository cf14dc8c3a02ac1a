// Compares every kind of model on a device with the CPU's scalar kernels. The simulated device runs its threads once in
// ascending and once in descending order, which must give the same bits.
#include "session/variants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/description.h"
#include "cuda/grid.h"
#include "session/variant_answers.h"
#include "support/engines.h"

namespace linformer_test::variants_test {
namespace {

using namespace linformer;

SessionOptions with(int device, Padding padding) {
  SessionOptions options;
  options.cuda.device = device;
  options.run.padding = padding;
  options.cpu.isa = Isa::scalar;
  if (device < 0) options.run.compute = Compute::f32;
  return options;
}

TEST_CASE("models of every kind agree with the CPU on a device") {
  if (linformer_test::engines().empty()) return;
  // Half an ulp is 2^-11 in f16 and 2^-8 in bf16, and the errors of a dozen successive products add up.
  for (const auto& [type, limit] : {std::pair{ElementType::f32, 5e-6}, std::pair{ElementType::f16, 5e-3},
                                    std::pair{ElementType::bf16, 4e-2}, std::pair{ElementType::int8, 5e-3}}) {
    double worst = 0;
    for (Variant variant : linformer_test::variants(45)) {
      variant.shape.type = type;
      CAPTURE(variant.name);
      CAPTURE(std::string(name_of(type)));
      const auto model = linformer_test::random_model(variant.shape);
      const std::vector<RandomInput> texts = linformer_test::random_texts(*model, variant, {45, 3, 20, 20, 44, 1});
      for (Padding padding : {Padding::strip, Padding::keep}) {
        const Answer cpu = run(model, variant, with(-1, padding), texts),
                     device = run(model, variant, with(0, padding), texts);
#if defined(LINFORMER_CUDA_SIMULATED)
        cuda::Simulated::backwards = true;
        const Answer backwards = run(model, variant, with(0, padding), texts);
        cuda::Simulated::backwards = false;
#else
        const Answer backwards = run(model, variant, with(0, padding), texts);  // A second run on the device.
#endif
        for (size_t i = 0; i < cpu.all().size(); ++i) {
          const std::vector<float>&a = *cpu.all()[i], &b = *device.all()[i], &c = *backwards.all()[i];
          const double x = max_relative_difference(a, b);
          CHECK(x <= limit);
          worst = std::max(worst, x);
          CHECK((b.empty() || std::memcmp(b.data(), c.data(), b.size() * sizeof(float)) == 0));
        }
      }
    }
    std::printf("%s: largest difference to the CPU, of the largest value: %.2g\n", name_of(type), worst);
  }
}

}  // namespace

}  // namespace linformer_test::variants_test
