// Lowers attention whose keys and values are compressed before queries read them. The heads of a layer either share one
// projection (a matrix E, a convolution or pooling) or have one each. Source: the paper's section 4, equation 7 and
// "additional efficiency techniques".
#include <algorithm>

#include "program/lower.h"
#include "program/lower_keys.h"

namespace LINFORMER_NAMESPACE {

// Returns the panels of the first n columns of E, or of their transpose. Layers with the same E share the panels.
View Lowering::projection_table(const View& e, bool transposed, int64_t n, ElementType compute) {
  const int64_t depth = transposed ? n : e.rows, width = transposed ? e.rows : n;
  View view = buffer_view(Place::table, BufferId::projection_table, width, program_.arena.value(Term::projection));
  view.type = compute;
  view.layout = RightLayout::panel16;
  view.rows = depth;
  Array<ProjectionTable>& tables = program_.projections;
  for (const ProjectionTable& t : tables) {
    if (t.e.tensor != e.tensor || t.transposed != transposed || t.n != n || t.compute != compute) continue;
    view.offset = t.offset;
    return view;
  }
  Count& elements = program_.arena[Term::projection];
  out_of_memory_ = out_of_memory_ || !tables.try_push({e, transposed, n, compute, view.offset});
  elements = elements + Count(round_up(depth, panel_k_multiple(ElementType::bf16))) * round_up(width, panel_width);
  return view;
}

// Sets the operands of attention over short sequences, which compresses scores instead of keys. They are panels of Z W,
// E^T and E.
void Lowering::add_short_sequence_operands(LayerState* layer) {
  ops::Attend& attend = layer->attend;
  attend.short_rows = std::min(layer->plan.longest, attend.short_below - 1);
  if (attend.short_rows < 1) return;
  const int64_t n = attend.short_rows;
  attend.short_panels = group_panel_elements(attend.d_head, n);
  attend.row_keys = panels(BufferId::keys, attend);
  attend.row_values = panels(BufferId::values, attend);
  const KeyGroup& group = program_.group(attend.groups, 0);
  attend.e_transposed = projection_table(group.projections[key_side].weight, true, n, attend.compute);
  attend.e = projection_table(group.projections[value_side].weight, false, n, attend.compute);
  attend.scores.cols = std::max(attend.scores.cols, round_up(group.k, panel_width) + round_up(n, panel_width));
}

// Returns the slot of Z W, with room for the longest sequence that is multiplied by W before it is compressed.
View Lowering::projected_slot(const LayerState& layer, int side) {
  return slot_view(compressed_buffer(side), std::min(layer.plan.longest, layer.plan.project_first_below - 1),
                   layer.key_width);
}

// Adds the products E Z for long sequences and Z W for sequences that are multiplied by W first. All heads share one
// linear E.
void Lowering::add_ez_or_zw(const LayerState& layer, int side) {
  const AttentionDescription& description = layer.description->attention;
  const Projection& projection = projection_of(description, side, 0);
  const bool same = side == key_side || layer.plan.shared_projection;
  const bool compresses = layer.plan.longest >= layer.plan.project_first_below,
             projects = layer.plan.project_first_below > 1;
  const int64_t d = inputs(linear_of(description, side));
  if (compresses && (side == key_side || !same)) {
    add_key_stage(layer, Domain::source_columns, {.from = layer.plan.project_first_below}, d, side == value_side);
    ops::Gemm compress;
    compress.a = weight(projection.weight);
    compress.b = source(layer, d);
    compress.out = slot_view(compressed_buffer(side), projection.k, d);
    add(compress);
  }
  if (projects) {
    add_key_stage(layer, Domain::source_rows, {.below = layer.plan.project_first_below}, 0,
                  compresses || side == value_side);
    project_rows(layer, side, projected_slot(layer, side));
  }
}

// Adds the op that scales K or V by a factor that depends on the sequence's length n. No stored weight can contain it.
void Lowering::scale_by_length(const Projection& projection, const View& key) {
  if (projection.length_scale == LengthScale::none) return;
  add(ops::ScaleByLength{key, weight(projection.weight), projection.length_scale});
}

// Adds the ops that compute K or V of all heads at once, as (E Z) W or as E (Z W).
void Lowering::add_keys_or_values_of_all_heads(const LayerState& layer, int side) {
  const AttentionDescription& description = layer.description->attention;
  const Projection& projection = projection_of(description, side, 0);
  const bool same = side == key_side || layer.plan.shared_projection;
  const Linear linear = linear_of(description, side);
  const int64_t k = projection.k;
  const bool after = adds_bias_after_projection(linear, projection);
  const int64_t short_below = layer.attend.short_below;
  const bool compresses = layer.plan.longest >= layer.plan.project_first_below;
  const bool projects =
      layer.plan.project_first_below > std::max<int64_t>(short_below, 1) && layer.plan.longest >= short_below;
  if (!compresses && !projects) return;
  const View e = weight(projection.weight), key = slot_view(key_or_value_buffer(side), k, layer.key_width);
  if (compresses) {
    add_key_stage(layer, Domain::compressed_rows, {.from = layer.plan.project_first_below}, k, side == value_side);
    // If the model adds the bias b before E, (E Z) W lacks (E 1) b^T, where 1 is a vector of ones.
    const bool row_sums = linear.bias != absent && !after;
    Linear plain = linear;
    if (row_sums) plain.bias = absent;
    const View compressed = slot_view(compressed_buffer(same ? key_side : side), k, inputs(linear));
    gemm(compressed, plain, key).row_bias = weight(projection.bias);
    if (row_sums) add(ops::AddRowSums{key, e, weight(linear.bias)});
    scale_by_length(projection, key);
  }
  if (projects) {
    add_key_stage(layer, Domain::compressed_rows, {short_below, layer.plan.project_first_below}, k,
                  compresses || side == value_side);
    ops::Gemm product;
    product.a = e;
    product.b = projected_slot(layer, side);
    product.row_bias = weight(projection.bias);
    if (after) product.bias = weight(linear.bias);
    product.out = key;
    add(product);
    scale_by_length(projection, key);
  }
}

// Adds the op that compresses K or V of each group of heads by itself, which reads the group's columns of Z W. For
// layers whose heads have projections of their own, or whose projection is a convolution or pooling. If `joins` is
// true, the op runs at the same time as the stage before it.
void Lowering::compress_by_head(const LayerState& layer, int side, bool joins) {
  const ops::Attend& attend = layer.attend;
  add_key_stage(layer, Domain::key_heads, {}, attend.groups.count, joins);
  const View projected = slot_view(compressed_buffer(side), layer.plan.longest, layer.key_width);
  add(ops::Compress{key_slot(layer, side), projected, attend.groups, attend.d_head, side});
}

// Adds the ops that pack K^T and V into panels or, for short sequences, (Z W)^T and Z W.
void Lowering::pack_sides(const LayerState& layer) {
  const ops::Attend& attend = layer.attend;
  const bool has_long = layer.plan.longest >= attend.short_below;
  if (has_long) {
    add_key_stage(layer, Domain::key_heads, {.from = attend.short_below}, attend.groups.count, false);
    for (int side : {key_side, value_side}) {
      const View out = side == key_side ? attend.keys : attend.values;
      add(ops::Pack{out, key_slot(layer, side), attend.groups, attend.d_head, side == key_side});
    }
  }
  if (attend.short_rows < 1) return;
  add_key_stage(layer, Domain::key_heads, {.below = attend.short_below}, attend.groups.count, has_long);
  for (int side : {key_side, value_side}) {
    const View out = side == key_side ? attend.row_keys : attend.row_values;
    const View rows = projected_slot(layer, layer.value_is_key ? key_side : side);
    add(ops::PackRows{out, rows, attend.groups, attend.d_head, attend.short_panels, side == key_side});
  }
}

void Lowering::lower_compressed_keys_and_values(LayerState* layer) {
  add_score_buffers(layer);
  if (layer->attend.short_below > 0) add_short_sequence_operands(layer);
  const int sides = layer->value_is_key ? 1 : 2;
  if (layer->plan.one_projection) {
    program_.project_first_below = std::max(program_.project_first_below, layer->plan.project_first_below);
    for (int side = 0; side < sides; ++side) add_ez_or_zw(*layer, side);
    for (int side = 0; side < sides; ++side) add_keys_or_values_of_all_heads(*layer, side);
  } else {
    for (int side = 0; side < sides; ++side) {
      add_key_stage(*layer, Domain::source_rows, {}, 0, side > 0);
      project_rows(*layer, side, slot_view(compressed_buffer(side), layer->plan.longest, layer->key_width));
    }
    for (int side = 0; side < sides; ++side) compress_by_head(*layer, side, side > 0);
  }
  if (layer->plan.panels) pack_sides(*layer);
}

}  // namespace LINFORMER_NAMESPACE
