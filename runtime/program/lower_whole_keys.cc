// Lowers attention that keeps a key and a value for each row of the sequence. If the layer has a window, it may also
// have compressed keys and values.
#include <algorithm>

#include "program/lower.h"
#include "program/lower_keys.h"

namespace LINFORMER_NAMESPACE {

// Lowers the keys and values of one layer that keeps a key and a value for each row.
class WholeKeys {
 public:
  WholeKeys(Lowering* to, Lowering::LayerState* layer)
      : to_(*to), layer_(*layer), attend_(layer->attend), sides_(layer->value_is_key ? 1 : 2) {}

  // For a layer with a window and compressed keys: sets how many compressed keys take part in attention by the length
  // of a sequence, and the views through which attention reads compressed keys and values.
  void view_beside() {
    const Projection& e = projection(key_side);
    if (attend_.window == 0 || e.k == 0) return;
    attend_.beside = e.k;
    rows_ = {e.k, static_cast<int64_t>(e.exact_tokens.size()), e.span, attend_.window};
    for (int32_t g = 0; g < attend_.groups.count; ++g) {
      KeyGroup& group = to_.program_.groups[static_cast<size_t>(attend_.groups.first + g)];
      for (HeadProjection& head : group.projections) head.beside = rows_;
    }
    attend_.keys_beside = beside(BufferId::packed_keys_beside, key_side);
    attend_.values_beside = beside(BufferId::packed_values_beside, value_side);
  }

  void lower() {
    for (int side = 0; side < sides_; ++side) {
      if (side == 0 || !layer_.plan.converts_once) to_.add_key_stage(layer_, Domain::source_rows, {}, 0, side > 0);
      compute(side);
    }
    if (attend_.beside == 0) return;
    for (int side = 0; side < sides_; ++side) compress(side);
    if (layer_.plan.panels) pack();
  }

 private:
  const Projection& projection(int side) const { return to_.projection_of(layer_.description->attention, side, 0); }

  // Returns the view of the rows that compress() writes: the layer's compressed keys or its compressed values.
  View rows_beside(int side) const {
    const BufferId buffer = side == key_side || layer_.value_is_key ? BufferId::keys_beside : BufferId::values_beside;
    return Lowering::slot_view(buffer, projection(side).k, layer_.key_width);
  }

  // Returns the view of compressed keys or values that attention reads. If the layer's keys are packed, it is the view
  // of the panels of all groups in the buffer `packed`, and otherwise the rows themselves.
  View beside(BufferId packed, int side) const {
    if (!layer_.plan.panels) return rows_beside(side);
    const KeyGroup& last = to_.program_.group(attend_.groups, attend_.groups.count - 1);
    View view = Lowering::slot_view(packed, 1, last.panels_offset + group_panel_elements(attend_.d_head, last.k));
    view.type = attend_.compute;
    view.layout = RightLayout::panel16;
    return view;
  }

  // Adds the ops that compute K or V for a block of rows.
  void compute(int side) {
    // Compressed keys beside a window are computed from the whole keys as rows, so these are kept in addition to
    // panels.
    const bool stored = !layer_.plan.panels || attend_.beside > 0;
    View rows = stored ? to_.key_slot(layer_, side) : to_.block(BufferId::ffn, layer_.key_width);
    rows.ld = layer_.key_width;  // GEMM providers write rows fastest without gaps between them.
    to_.project_rows(layer_, side, rows);
    if (layer_.plan.panels) pack_block(side, rows);
  }

  // Adds the op that packs a block of rows into the panels of keys or of values. If the layer's values are its keys,
  // adds one op for each.
  void pack_block(int side, const View& rows) {
    for (int to : {key_side, value_side}) {
      if (to != side && !layer_.value_is_key) continue;
      View out = to_.panels(compressed_buffer(to), attend_);
      out.cols = layer_.key_width;
      to_.add(ops::PackBlock{out, rows, attend_.groups, attend_.d_head, to == key_side});
    }
  }

  // Adds the product E (Z W) of the projection E and the rows Z W that compute() stored. Compressed rows that stand for
  // exact tokens are then replaced by the rows of these tokens.
  void compress(int side) {
    const Projection& e = projection(side);
    Stage& stage = to_.add_key_stage(layer_, Domain::compressed_rows, {.from = rows_.shortest_sequence()}, e.k,
                                     side == value_side);
    stage.whole_keys = false;
    stage.beside = rows_;
    ops::Gemm product;
    product.b = to_.key_slot(layer_, side);
    product.out = rows_beside(side);
    product.a = to_.weight(e.weight);
    product.row_bias = to_.weight(e.bias);
    to_.add(product);
    if (e.exact_tokens.empty()) return;
    ops::PutTokens put{product.out, product.b};
    put.count = static_cast<int32_t>(e.exact_tokens.size());
    std::copy(e.exact_tokens.begin(), e.exact_tokens.end(), put.tokens);
    to_.add(put);
  }

  // Adds the ops that pack the compressed rows of each group into panels of K^T and of V.
  void pack() {
    to_.add_key_stage(layer_, Domain::key_heads, {.from = rows_.shortest_sequence()}, attend_.groups.count, false);
    for (int side : {key_side, value_side}) {
      const View& out = side == key_side ? attend_.keys_beside : attend_.values_beside;
      to_.add(ops::Pack{out, rows_beside(side), attend_.groups, attend_.d_head, side == key_side});
    }
  }

  Lowering& to_;
  const Lowering::LayerState& layer_;
  ops::Attend& attend_;
  RowsBeside rows_;  // Which compressed rows take part in attention, the same for keys and for values.
  int sides_;        // 1 if the values are the keys, and 2 otherwise.
};

void Lowering::lower_whole_keys_and_values(LayerState* layer) {
  WholeKeys keys(this, layer);
  keys.view_beside();
  add_score_buffers(layer);
  keys.lower();
}

}  // namespace LINFORMER_NAMESPACE
