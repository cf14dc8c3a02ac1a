// Every kind of attention and layer: nothing is allocated while a session runs, and the arena is what was planned.
#include "session/variants.h"

#include <doctest/doctest.h>

#include "allocations/model_calls.h"
#include "support/skip.h"

namespace linformer_test::variants_test {
namespace {

using namespace linformer;

// Two blocks of rows; with full attention two blocks of keys too.
constexpr uint32_t most_tokens = 150, most_tokens_full = 530;

TEST_CASE("no kind of model makes a session allocate, and each uses the bytes that were planned") {
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
