// Lowers the parts that all kinds of attention share. lower_compressed_keys.cc lowers compressed keys and values, and
// lower_whole_keys.cc lowers keys and values that are not compressed.
#include <algorithm>

#include "base/description.h"
#include "program/lower.h"
#include "program/lower_keys.h"

namespace LINFORMER_NAMESPACE {
namespace {

const Array<uint32_t>& list_of(const AttentionDescription& attention, int side) {
  return side == key_side || attention.value_is_key ? attention.key_projections : attention.value_projections;
}

}  // namespace

const Projection& Lowering::projection_of(const AttentionDescription& attention, int side, size_t group) const {
  const Array<uint32_t>& indices = list_of(attention, side);
  return encoder_.projections[indices[indices.size() == 1 ? 0 : group]];
}

// Returns the view of the panels of a sequence's keys or values in `buffer`.
View Lowering::panels(BufferId buffer, const ops::Attend& attend) const {
  View view;
  view.place = attend.whole ? Place::key_rows : Place::sequence;
  view.type = attend.compute;
  view.layout = RightLayout::panel16;
  view.buffer = buffer;
  return view;
}

size_t Lowering::group_count(const AttentionDescription& attention) const {
  const bool each_head = list_of(attention, key_side).size() > 1 || list_of(attention, value_side).size() > 1;
  return each_head ? attention.heads : attention.kv_heads;
}

void Lowering::add_groups(LayerState* layer) {
  const AttentionDescription& description = layer->description->attention;
  const ops::Attend& attend = layer->attend;
  const size_t count = group_count(description);
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
      // In fairseq's models the bias of the linear layer is added to each compressed row.
      const Linear linear = linear_of(description, side);
      if (adds_bias_after_projection(linear, projection)) {
        head.bias = weight(linear.bias);
        head.bias.offset = group.column;
      }
    }
    group.k = group.projections[key_side].k;
    group.key_offset = layer->plan.compresses_by_head() ? key_offset : group.column;
    group.panels_offset = panels_offset;
    key_offset += group.k * attend.d_head;
    panels_offset += group_panel_elements(attend.d_head, group.k);
  }
}

Stage& Lowering::add_key_stage(const LayerState& layer, Domain domain, const Lengths& lengths, int64_t extent,
                               bool joins) {
  Stage& made = add_stage(domain);
  made.lengths = lengths;
  made.extent = extent;
  made.joins = joins;
  made.key_rows = layer.key_rows;
  made.whole_keys = layer.attend.whole;
  return made;
}

// Adds the op that applies rotary positions to queries or keys, if the layer has them. Layers with the same base, scale
// and d_head share one table.
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

// Adds the ops that compute Z W for a block of a sequence's rows, with the norm and rotation of keys. If the model
// zeroes masked rows, the masked rows of Z W become zero.
void Lowering::project_rows(const LayerState& layer, int side, const View& out) {
  const AttentionDescription& description = layer.description->attention;
  Linear linear = linear_of(description, side);
  if (adds_bias_after_projection(linear, projection_of(description, side, 0))) linear.bias = absent;
  gemm(source(layer, inputs(linear)), linear, out);
  if (side == key_side) {
    norm_in_place(description.key_norm, out);
    rotate(layer, out);
  }
  if (layer.zeroes_masked) add(ops::Zero{out, ZeroRows::masked});
}

// Returns the view of K or V of a sequence as rows.
View Lowering::key_slot(const LayerState& layer, int side) const {
  View view;
  view.place = layer.attend.whole ? Place::key_rows : Place::sequence;
  view.buffer = key_or_value_buffer(layer.value_is_key ? key_side : side);
  view.cols = layer.plan.compresses_by_head() ? layer.attend.d_head : layer.key_width;
  view.ld = layer.key_ld;
  return view;
}

// Adds the buffers that a thread needs for its queries: one for scores and, if the layer has a key for each row (whole
// keys), one for the online softmax.
void Lowering::add_score_buffers(LayerState* layer) {
  ops::Attend& attend = layer->attend;
  if (layer->plan.score_rows == 0) return;
  int64_t columns = 0;
  if (attend.whole) {
    columns = std::min(full_keys, round_up(attend.most_keys(layer->plan.longest), panel_width));
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
  attend.position_bias = weight(description.position_bias);
  layer->value_is_key = description.value_is_key;
  attend.value_side = description.value_is_key ? key_side : value_side;
  layer->zeroes_masked = description.row_mask == RowMask::zeroed;
  layer->key_width = int64_t{description.kv_heads} * description.head_dim;
  layer->key_ld = layer->plan.compresses_by_head() ? attend.d_head : layer->key_width;
  layer->key_rows.source = description.key_source;
  program_.needs_states = program_.needs_states || description.key_source == KeySource::encoder_states;
}

void Lowering::lower_keys_and_values(LayerState* layer) {
  describe_attention(layer);
  add_groups(layer);
  ops::Attend& attend = layer->attend;
  const bool packs = layer->plan.panels;
  attend.keys = packs ? panels(BufferId::compressed_key, attend) : key_slot(*layer, key_side);
  attend.values = packs ? panels(BufferId::compressed_value, attend) : key_slot(*layer, value_side);
  if (attend.whole) {
    lower_whole_keys_and_values(layer);
  } else {
    lower_compressed_keys_and_values(layer);
  }
}

}  // namespace LINFORMER_NAMESPACE
