// Tests the function that decides how a layer is computed. Its result depends only on the model, the extents and the
// target.
#include "program/layer_plan.h"

#include <doctest/doctest.h>

#include "support/random_model.h"

namespace linformer_test::layer_plan_test {
namespace {

using namespace linformer;

RandomModel shape() {
  RandomModel model;
  model.n = 400;
  model.k = 32;
  model.d_model = 96;
  model.heads = 6;
  model.ffn = 1600;
  return model;
}

Extents extents() {
  Extents e;
  e.tokens = 400;
  e.rows = 800;
  e.block_rows = 128;
  return e;
}

LayerPlan plan(const RandomModel& model, const Target& target) {
  const auto made = linformer_test::random_model(model);
  const ModelDescription& description = made->description();
  return plan_layer(description, description.encoder, description.encoder.layers[0], extents(), target);
}

Target native() {
  Target target;
  target.packs = target.bf16 = target.int8 = true;
  target.narrow_attention = ElementType::bf16;
  return target;
}

Target device(ElementType type) {
  Target target;
  target.device = true;
  target.all = type;
  return target;
}

}  // namespace

TEST_CASE("the lengths at which the computation changes depend on the model and on whether weights are in panels") {
  const LayerPlan rows = plan(shape(), {}), panels = plan(shape(), native());
  CHECK(rows.short_below == 0);
  CHECK_FALSE(rows.panels);
  CHECK(panels.panels);
  // The limit is n = 2 k D / (D + heads k), and here D = heads k / 2.
  CHECK(panels.short_below == 1 + 2 * 32 * 96 / (96 + 6 * 32));
  CHECK(panels.project_first_below == rows.project_first_below);
  CHECK(panels.project_first_below > panels.short_below);

  RandomModel model = shape();
  model.row_mask = RowMask::zeroed;  // The mask is applied after the linear layer.
  model.order = ProjectionOrder::after_linear;
  CHECK(plan(model, native()).project_first_below > 400);
  CHECK(plan(model, native()).short_below == 0);
  model = shape();
  model.each_head = true;
  CHECK(plan(model, native()).compresses_by_head());
  CHECK(plan(model, native()).short_below == 0);
}

TEST_CASE("keys with norms are projected before E, and the keys of a window are kept uncompressed") {
  RandomModel model = shape();
  model.order = ProjectionOrder::after_linear;
  model.head_norms = linformer_test::HeadNorms::each;
  CHECK(plan(model, native()).project_first_below > 400);
  model = shape();
  model.order = ProjectionOrder::after_linear;
  model.layer.attention.window = 16;
  const LayerPlan window = plan(model, native());
  CHECK(window.whole_keys);
  CHECK_FALSE(window.one_projection);
  CHECK(window.short_below == 0);
}

TEST_CASE("scores in bf16 are compressed only if E is stored in bf16") {
  RandomModel model = shape();
  Target target = native();
  target.wide_attention = ElementType::bf16;
  CHECK(plan(model, target).attention == ElementType::bf16);
  CHECK(plan(model, target).short_below == 0);
  model.type = ElementType::bf16;
  CHECK(plan(model, target).short_below > 0);
}

TEST_CASE("a CPU has a buffer of scores, with the rows of one block of queries") {
  RandomModel model = shape();
  CHECK(plan(model, native()).score_rows == 128);
  model.kinds = {ProjectionKind::none};
  const LayerPlan whole = plan(model, native());
  CHECK(whole.whole_keys);
  CHECK(whole.score_rows == most_full_queries);
  CHECK(plan(model, device(ElementType::f32)).score_rows == 0);
}

TEST_CASE("slices, the type of the context and single conversions depend on the types of the products") {
  RandomModel model = shape();
  const LayerPlan f32 = plan(model, native());
  CHECK(f32.slice == 0);
  CHECK_FALSE(f32.converts_once);
  CHECK(f32.attention == ElementType::f32);

  model.type = ElementType::bf16;
  const LayerPlan bf16 = plan(model, native());
  CHECK(bf16.slice == int8_slice);
  CHECK(bf16.slice_type == ElementType::bf16);
  CHECK(bf16.converts_once);
  CHECK(bf16.attention == ElementType::bf16);
  CHECK(bf16.product_rounds_slice(64));
  CHECK_FALSE(bf16.product_rounds_slice(65));
  CHECK(bf16.context == ElementType::f32);
  CHECK(plan(model, {}).slice == 0);  // This target widens weights.
  RandomModel gated = model;
  gated.layer.gated = true;
  CHECK(plan(gated, native()).slice == int8_slice);
  CHECK_FALSE(plan(gated, native()).product_rounds_slice(64));  // Both factors stay in f32.
  CHECK(plan(gated, device(ElementType::f16)).slice == 0);
  gated.ffn += 1;
  CHECK(plan(gated, native()).slice == 0);  // The columns of the second factor begin within a panel.

  model.type = ElementType::int8;
  const LayerPlan int8 = plan(model, native());
  CHECK(int8.slice_type == ElementType::int8);
  CHECK_FALSE(int8.product_rounds_slice(64));

  const LayerPlan f16 = plan(model, device(ElementType::f16));
  CHECK(f16.slice == 1600);
  CHECK(f16.product_rounds_slice(1));
  CHECK(f16.context == ElementType::f16);
  CHECK_FALSE(f16.dense_gate);
  CHECK(plan(model, native()).dense_gate);
}

}  // namespace linformer_test::layer_plan_test
