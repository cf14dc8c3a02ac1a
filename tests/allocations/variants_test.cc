// Tests with every kind of attention and layer that a session allocates nothing while it runs, and that its arena has
// the planned size.
#include "session/variants.h"

#include <doctest/doctest.h>

#include "allocations/model_calls.h"
#include "support/skip.h"

namespace linformer_test::variants_test {
namespace {

using namespace linformer;

// These lengths need two blocks of rows, and with full attention also two blocks of keys.
constexpr uint32_t most_tokens = 150, most_tokens_full = 530;

TEST_CASE("sessions of every kind of model allocate nothing and use the planned bytes") {
  std::vector<Variant> all;
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::int8}) {
    for (Variant variant : variants(most_tokens, most_tokens_full)) {
      variant.shape.type = type;
      all.push_back(variant);
    }
  }
  for (const Variant& variant : all) {
    ModelCalls calls(random_model(variant.shape), variant.masks);
    CAPTURE(variant.name);
    CAPTURE(std::string(name_of(variant.shape.type)));
    for (const Engine& engine : engines()) {
      if (engine.backend != BackendKind::native) continue;
      if (variant.shape.type != ElementType::f32 && engine.isa != best_isa()) continue;
      for (const int threads : {1, 2}) {
        if (threads == 1 && engine.isa != best_isa()) continue;
        const SessionCost cost = calls.run(engine, threads);
        CHECK(cost.used_first == cost.planned);
        CHECK(cost.used == cost.planned);
        CHECK(cost.allocations == 0);
      }
    }
  }
  if (!counting_works()) linformer_test::skip("the allocator can't be replaced under a sanitizer");
}

}  // namespace
}  // namespace linformer_test::variants_test
