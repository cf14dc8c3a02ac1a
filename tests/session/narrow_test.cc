// Compares every kind of model in bf16 and int8, computed in the file's type, with the same weights computed in f32.
#include <cstdio>

#include "base/description.h"
#include "session/variant_answers.h"
#include "support/engines.h"

namespace linformer_test::narrow_test {
namespace {

using namespace linformer;

TEST_CASE("for every kind of model the results in bf16 and int8 are near those in f32") {
  struct Limits {
    ElementType type;
    double to_f32, between_isas;
  };
  for (const auto& [type, limit, limit_between] :
       {Limits{ElementType::bf16, 0.05, 0.02}, Limits{ElementType::int8, 0.12, 0.05}}) {
    double worst = 0, apart = 0;
    for (Variant variant : linformer_test::variants(45)) {
      variant.shape.type = type;
      CAPTURE(variant.name);
      CAPTURE(std::string(name_of(type)));
      const auto model = linformer_test::random_model(variant.shape);
      const std::vector<RandomInput> texts = linformer_test::random_texts(*model, variant, {44, 3, 20, 1});
      SessionOptions options;
      options.run.compute = linformer_test::bf16_compute({BackendKind::native, linformer_test::best_isa()});
      const auto narrow = run(model, variant, options, texts);
      // Instruction sets compute GELU and exp with different rounding, and those without bf16 compute attention in f32.
      for (const linformer_test::Engine& engine : linformer_test::engines()) {
        if (engine.backend != BackendKind::native) continue;
        options.cpu.isa = engine.isa;
        options.run.compute = linformer_test::bf16_compute(engine);
        const auto other = run(model, variant, options, texts);
        for (size_t i = 0; i < narrow.all().size(); ++i) {
          const double x = linformer_test::max_relative_difference(*narrow.all()[i], *other.all()[i]);
          CHECK(x <= limit_between);
          apart = std::max(apart, x);
        }
      }
      options.cpu.isa = Isa::automatic;
      options.run.compute = Compute::f32;
      const auto wide = run(model, variant, options, texts);
      for (size_t i = 0; i < wide.all().size(); ++i) {
        const double x = linformer_test::max_relative_difference(*wide.all()[i], *narrow.all()[i]);
        CHECK(x <= limit);
        worst = std::max(worst, x);
      }
    }
    std::printf("%s: largest difference to f32, of the largest value: %.2g; between instruction sets: %.2g\n",
                name_of(type), worst, apart);
  }
}

}  // namespace

}  // namespace linformer_test::narrow_test
