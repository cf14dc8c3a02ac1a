// Keys and values, in one of three ways: compressed by one projection for all heads, by projections of each head's
// own, or whole. Paper section 4, equation 7, and "additional efficiency techniques".
#include <algorithm>

#include "base/checked.h"
#include "base/description.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr int key_side = 0, value_side = 1;

BufferId compressed_of(int side) { return side == key_side ? BufferId::compressed_key : BufferId::compressed_value; }
BufferId keys_of(int side) { return side == key_side ? BufferId::keys : BufferId::values; }

const Array<uint32_t>& list_of(const AttentionDescription& attention, int side) {
  return side == key_side || attention.value_is_key ? attention.key_projections : attention.value_projections;
}

// Whether a linear's bias belongs after E, not to Z W.
bool bias_after(const Linear& linear, const Projection& first) {
  return linear.bias != absent && first.kind == ProjectionKind::linear && first.order == ProjectionOrder::before_linear;
}

Linear linear_of(const AttentionDescription& attention, int side) {
  return side == key_side ? attention.key : attention.value;
}

}  // namespace

const Projection& Lowering::projection_of(const AttentionDescription& attention, int side, size_t group) const {
  const Array<uint32_t>& indices = list_of(attention, side);
  return encoder_.projections[indices[indices.size() == 1 ? 0 : group]];
}

// The panels of the first n columns of E, or of their transpose; the same for all layers that have it.
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
  elements = elements + Count(round_up(depth, panel_depth(ElementType::bf16))) * round_up(width, panel_width);
  return view;
}

// Panels of a sequence's keys or values, in a slot of `buffer`.
View Lowering::panels(BufferId buffer, const ops::Attend& attend) const {
  View view;
  view.place = attend.whole ? Place::key_rows : Place::sequence;
  view.type = attend.compute;
  view.layout = RightLayout::panel16;
  view.buffer = buffer;
  return view;
}

// The compressed rows behind those of a `view` of whole keys or values.
View Lowering::beside(const View& whole, int64_t k) {
  View view = whole;
  view.place = Place::beside;
  view.rows = k;
  return view;
}

// What short sequences need beside Z W.
void Lowering::add_short(LayerState* layer) {
  ops::Attend& attend = layer->attend;
  attend.short_rows = std::min(layer->plan.longest, attend.short_below - 1);
  if (attend.short_rows < 1) return;
  const int64_t n = attend.short_rows;
  attend.short_panels = group_panels(attend.d_head, n);
  attend.row_keys = panels(BufferId::keys, attend);
  attend.row_values = panels(BufferId::values, attend);
  const KeyGroup& group = program_.group(attend.groups, 0);
  attend.e_transposed = projection_table(group.projections[key_side].weight, true, n, attend.compute);
  attend.e = projection_table(group.projections[value_side].weight, false, n, attend.compute);
  attend.scores.cols = std::max(attend.scores.cols, round_up(group.k, panel_width) + round_up(n, panel_width));
}

size_t Lowering::groups_of(const AttentionDescription& attention) const {
  const bool each_head = list_of(attention, key_side).size() > 1 || list_of(attention, value_side).size() > 1;
  return each_head ? attention.heads : attention.kv_heads;
}

void Lowering::add_groups(LayerState* layer) {
  const AttentionDescription& description = layer->description->attention;
  const ops::Attend& attend = layer->attend;
  const size_t count = groups_of(description);
  layer->attend.groups = {next_group_, static_cast<int32_t>(count), static_cast<int32_t>(description.heads / count)};
  next_group_ += attend.groups.count;
  int64_t key_offset = 0, panels_offset = 0;
  for (size_t g = 0; g < count; ++g) {
    KeyGroup& group = program_.groups[static_cast<size_t>(attend.groups.first) + g];
    group.column = static_cast<int64_t>(g * description.kv_heads / count) * attend.d_head;
    for (int side : {key_side, value_side}) {
      const Projection& projection = projection_of(description, side, g);
      HeadProjection& head = group.projections[side];
      head.kind = projection.kind;
      head.k = projection.k;
      head.kernel = projection.kernel;
      head.stride = projection.stride;
      head.length_scale = projection.length_scale;
      head.weight = weight(projection.weight);
      if (projection.kind == ProjectionKind::convolution) head.weight.layout = RightLayout::transposed;
      (projection.kind == ProjectionKind::linear ? head.row_bias : head.bias) = weight(projection.bias);
      // fairseq: the key bias is added to each compressed row.
      const Linear linear = linear_of(description, side);
      if (bias_after(linear, projection)) {
        head.bias = weight(linear.bias);
        head.bias.offset = group.column;
      }
    }
    group.k = group.projections[key_side].k;
    group.key_offset = layer->plan.by_head() ? key_offset : group.column;
    group.panels_offset = panels_offset;
    key_offset += group.k * attend.d_head;
    panels_offset += group_panels(attend.d_head, group.k);
  }
}

Stage& Lowering::key_stage(const LayerState& layer, Domain domain, const Lengths& lengths, int64_t extent, bool joins) {
  Stage& made = stage(domain);
  made.lengths = lengths;
  made.extent = extent;
  made.joins = joins;
  made.key_rows = layer.key_rows;
  made.whole_keys = layer.attend.whole;
  return made;
}

// Z W of sequences that are too short for E Z to pay.
View Lowering::projected_slot(const LayerState& layer, int side) {
  return slot(compressed_of(side), std::min(layer.plan.longest, layer.plan.project_first_below - 1), layer.key_width);
}

void Lowering::norm_heads(const Norm& of, const View& x) {
  if (of.present()) norm(of, x, x);
}

// Rotary positions of queries or keys, where the layer has them. The table is the same for all layers of one base and
// scale.
void Lowering::rotate(const LayerState& layer, const View& x) {
  const float base = layer.description->attention.rotary_base, scale = layer.description->attention.rotary_scale;
  if (base == 0) return;
  const int64_t d_head = layer.attend.d_head, tokens = program_.extents.tokens;
  Array<Rotary>& rotaries = program_.rotaries;
  size_t index = 0;
  const auto same = [&](const Rotary& known) {
    return known.base == base && known.scale == scale && known.d_head == d_head;
  };
  while (index < rotaries.size() && !same(rotaries[index])) ++index;
  if (index == rotaries.size()) {
    if (!rotaries.try_push({base, scale, d_head, program_.arena.value(Term::rotary)})) {
      out_of_memory_ = true;
      return;
    }
    Count& elements = program_.arena[Term::rotary];
    elements = elements + Count(tokens) * d_head;
  }
  View table = buffer_view(Place::table, BufferId::rotary_table, d_head, rotaries[index].offset);
  table.rows = tokens;
  table.ld = d_head;
  add(ops::Rotate{x, table});
}

// Z W of a block of a sequence's rows; masked ones are zero where the dialect says so.
void Lowering::project_rows(const LayerState& layer, int side, const View& out) {
  const AttentionDescription& description = layer.description->attention;
  Linear linear = linear_of(description, side);
  if (bias_after(linear, projection_of(description, side, 0))) linear.bias = absent;
  gemm(source(layer, inputs(linear)), linear, out);
  if (side == key_side) {
    norm_heads(description.key_norm, out);
    rotate(layer, out);
  }
  if (layer.zeroes_masked) add(ops::Zero{out, ZeroRows::masked});
}

// One linear E for all heads: E Z of long sequences, Z W of those that are projected first.
void Lowering::compress_side(const LayerState& layer, int side) {
  const AttentionDescription& description = layer.description->attention;
  const Projection& projection = projection_of(description, side, 0);
  const bool same = side == key_side || layer.plan.shared_projection;
  const bool compresses = layer.plan.longest >= layer.plan.project_first_below,
             projects = layer.plan.project_first_below > 1;
  const int64_t d = inputs(linear_of(description, side));
  if (compresses && (side == key_side || !same)) {
    key_stage(layer, Domain::source_columns, {.from = layer.plan.project_first_below}, d, side == value_side);
    ops::Gemm compress;
    compress.a = weight(projection.weight);
    compress.b = source(layer, d);
    compress.out = slot(compressed_of(side), projection.k, d);
    add(compress);
  }
  if (projects) {
    key_stage(layer, Domain::source_rows, {.below = layer.plan.project_first_below}, 0,
              compresses || side == value_side);
    project_rows(layer, side, projected_slot(layer, side));
  }
}

// Scales K or V by a factor that depends on n, which no stored weight can contain.
void Lowering::scale_by_length(const Projection& projection, const View& key) {
  if (projection.length_scale == LengthScale::none) return;
  add(ops::ScaleByLength{key, weight(projection.weight), projection.length_scale});
}

// K or V: (E Z) W, or E (Z W).
void Lowering::shared_side(const LayerState& layer, int side) {
  const AttentionDescription& description = layer.description->attention;
  const Projection& projection = projection_of(description, side, 0);
  const bool same = side == key_side || layer.plan.shared_projection;
  const Linear linear = linear_of(description, side);
  const int64_t k = projection.k;
  const bool after = bias_after(linear, projection);
  const int64_t short_below = layer.attend.short_below;
  const bool compresses = layer.plan.longest >= layer.plan.project_first_below;
  const bool projects =
      layer.plan.project_first_below > std::max<int64_t>(short_below, 1) && layer.plan.longest >= short_below;
  if (!compresses && !projects) return;
  const View e = weight(projection.weight), key = slot(keys_of(side), k, layer.key_width);
  if (compresses) {
    key_stage(layer, Domain::compressed_rows, {.from = layer.plan.project_first_below}, k, side == value_side);
    // The dialect adds b before E: (E Z) W then misses (E 1) b^T.
    const bool row_sums = linear.bias != absent && !after;
    Linear plain = linear;
    if (row_sums) plain.bias = absent;
    const View compressed = slot(compressed_of(same ? key_side : side), k, inputs(linear));
    gemm(compressed, plain, key).row_bias = weight(projection.bias);
    if (row_sums) add(ops::AddRowSums{key, e, weight(linear.bias)});
    scale_by_length(projection, key);
  }
  if (projects) {
    key_stage(layer, Domain::compressed_rows, {short_below, layer.plan.project_first_below}, k,
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

// K or V of each head from its columns of Z W.
void Lowering::compress_by_head(const LayerState& layer, int side, bool joins) {
  const ops::Attend& attend = layer.attend;
  key_stage(layer, Domain::key_heads, {}, attend.groups.count, joins);
  const View projected = slot(compressed_of(side), layer.plan.longest, layer.key_width);
  add(ops::Compress{key_slot(layer, side), projected, attend.groups, attend.d_head, side});
}

// K or V of a sequence, as rows.
View Lowering::key_slot(const LayerState& layer, int side) const {
  View view;
  view.place = layer.attend.whole ? Place::key_rows : Place::sequence;
  view.buffer = keys_of(layer.value_is_key ? key_side : side);
  view.cols = layer.plan.by_head() ? layer.attend.d_head : layer.key_width;
  view.ld = layer.key_ld;
  return view;
}

// Packs `rows` into the panels of keys or of values, or into both if values are keys. `rows` are a block of the
// sequence's own rows if k = 0, and otherwise the k compressed rows that stand beside them.
void Lowering::pack_block(const LayerState& layer, int side, const View& rows, int64_t k) {
  for (int to : {key_side, value_side}) {
    if (to != side && !layer.value_is_key) continue;
    View out = panels(compressed_of(to), layer.attend);
    if (k > 0) out = beside(out, k);
    out.cols = layer.key_width;
    add(ops::PackBlock{out, rows, layer.attend.groups, layer.attend.d_head, to == key_side});
  }
}

// K or V of every block of rows, whole.
void Lowering::full_side(const LayerState& layer, int side) {
  const bool stored = !layer.plan.panels || layer.plan.beside > 0;
  View rows = stored ? key_slot(layer, side) : block(BufferId::ffn, layer.key_width);
  rows.ld = layer.key_width;  // rows next to one another: what every GEMM provider writes fastest
  project_rows(layer, side, rows);
  if (layer.plan.panels) pack_block(layer, side, rows, 0);
}

// E (Z W) of the rows that full_side() stored. The first rows of E begin at the text's first row, its end_rows last
// ones end at the text's last. The rows of exact tokens are overwritten afterwards.
void Lowering::compress_beside(const LayerState& layer, int side) {
  const Projection& projection = projection_of(layer.description->attention, side, 0);
  key_stage(layer, Domain::compressed_rows, {}, projection.k, side == value_side).whole_keys = false;
  const int64_t at_start = projection.k - projection.end_rows;
  ops::Gemm product;
  product.b = key_slot(layer, side);
  product.out = beside(product.b, projection.k);
  product.a = weight(projection.weight);
  product.row_bias = weight(projection.bias);
  product.end_m = at_start;
  if (at_start > 0) add(product);
  product.first_m = at_start;
  product.end_m = projection.k;
  product.from_end = true;
  if (projection.end_rows > 0) add(product);
  if (projection.exact_tokens.empty()) return;
  ops::PutTokens put{product.out, product.b};
  put.count = static_cast<int32_t>(projection.exact_tokens.size());
  std::copy(projection.exact_tokens.begin(), projection.exact_tokens.end(), put.tokens);
  add(put);
}

void Lowering::keys_beside(const LayerState& layer, int sides) {
  const int64_t k = layer.plan.beside;
  for (int side = 0; side < sides; ++side) compress_beside(layer, side);
  if (!layer.plan.panels) return;
  key_stage(layer, Domain::compressed_rows, {}, k, false);
  for (int side = 0; side < sides; ++side) pack_block(layer, side, beside(key_slot(layer, side), k), k);
}

// Panels of K^T and V, and of a short sequence's rows of Z W.
void Lowering::pack_sides(const LayerState& layer) {
  const ops::Attend& attend = layer.attend;
  const bool has_long = layer.plan.longest >= attend.short_below;
  if (has_long) {
    key_stage(layer, Domain::key_heads, {.from = attend.short_below}, attend.groups.count, false);
    for (int side : {key_side, value_side}) {
      const View out = side == key_side ? attend.keys : attend.values;
      add(ops::Pack{out, key_slot(layer, side), attend.groups, attend.d_head, side == key_side});
    }
  }
  if (attend.short_rows < 1) return;
  key_stage(layer, Domain::key_heads, {.below = attend.short_below}, attend.groups.count, has_long);
  for (int side : {key_side, value_side}) {
    const View out = side == key_side ? attend.row_keys : attend.row_values;
    const View rows = projected_slot(layer, layer.value_is_key ? key_side : side);
    add(ops::PackRows{out, rows, attend.groups, attend.d_head, attend.short_panels, side == key_side});
  }
}

// Adds the buffers that a thread needs for its queries: one for scores and, if the layer keeps whole keys, one for the
// online softmax.
void Lowering::add_scores(LayerState* layer) {
  ops::Attend& attend = layer->attend;
  if (layer->plan.score_rows == 0) return;
  int64_t columns = 0;
  if (attend.whole) {
    columns = std::min(full_keys, round_up(std::max(layer->plan.longest, attend.beside), panel_width));
    attend.softmax = block(BufferId::softmax, round_up(attend.d_head, panel_width) + 3);
  } else {
    int64_t k = 0;
    for (int32_t g = 0; g < attend.groups.count; ++g) k = std::max(k, program_.group(attend.groups, g).k);
    columns = round_up(k, panel_width);
  }
  attend.scores = block(BufferId::scores, columns);
  attend.scores.rows = layer->plan.score_rows;
}

void Lowering::describe_attention(LayerState* layer) {
  const AttentionDescription& description = layer->description->attention;
  ops::Attend& attend = layer->attend;
  attend.whole = layer->plan.whole_keys;
  attend.causal = description.causal;
  attend.excludes_masked = description.row_mask == RowMask::excluded;
  attend.heads = description.heads;
  attend.d_head = description.head_dim;
  attend.scale = description.scale;
  attend.compute = layer->plan.attention;
  attend.short_below = layer->plan.short_below;
  attend.window = description.window;
  attend.beside = layer->plan.beside;
  attend.position_bias = weight(description.position_bias);
  layer->value_is_key = description.value_is_key;
  attend.value_side = description.value_is_key ? key_side : value_side;
  layer->zeroes_masked = description.row_mask == RowMask::zeroed;
  layer->key_width = int64_t{description.kv_heads} * description.head_dim;
  layer->key_ld = layer->plan.by_head() ? attend.d_head : layer->key_width;
  layer->key_rows.source = description.key_source;
  program_.needs_states = program_.needs_states || description.key_source == KeySource::encoder_states;
}

void Lowering::keys_and_values(LayerState* layer) {
  describe_attention(layer);
  add_groups(layer);
  const AttentionDescription& description = layer->description->attention;
  ops::Attend& attend = layer->attend;
  const bool packs = layer->plan.panels;
  add_scores(layer);
  if (attend.short_below > 0) add_short(layer);
  attend.keys = packs ? panels(BufferId::compressed_key, attend) : key_slot(*layer, key_side);
  attend.values = packs ? panels(BufferId::compressed_value, attend) : key_slot(*layer, value_side);
  if (attend.beside > 0) {
    attend.keys_beside = beside(attend.keys, attend.beside);
    attend.values_beside = beside(attend.values, attend.beside);
  }
  const int sides = description.value_is_key ? 1 : 2;
  if (attend.whole) {
    for (int side = 0; side < sides; ++side) {
      if (side == 0 || !layer->plan.converts_once) key_stage(*layer, Domain::source_rows, {}, 0, side > 0);
      full_side(*layer, side);
    }
    if (attend.beside > 0) keys_beside(*layer, sides);
    return;
  }
  if (layer->plan.one_projection) {
    program_.project_first_below = std::max(program_.project_first_below, layer->plan.project_first_below);
    for (int side = 0; side < sides; ++side) compress_side(*layer, side);
    for (int side = 0; side < sides; ++side) shared_side(*layer, side);
  } else {
    for (int side = 0; side < sides; ++side) {
      key_stage(*layer, Domain::source_rows, {}, 0, side > 0);
      project_rows(*layer, side, slot(compressed_of(side), layer->plan.longest, layer->key_width));
    }
    for (int side = 0; side < sides; ++side) compress_by_head(*layer, side, side > 0);
  }
  if (packs) pack_sides(*layer);
}

}  // namespace LINFORMER_NAMESPACE
