// Lowers attention that keeps a key and a value for each row of the sequence. If the layer has a window, it may also
// have compressed keys and values.
#include <algorithm>

#include "program/lower.h"
#include "program/lower_keys.h"

namespace LINFORMER_NAMESPACE {

// Returns the view of the k compressed rows that are stored behind the rows of `whole`.
View Lowering::beside(const View& whole, int64_t k) {
  View view = whole;
  view.place = Place::beside;
  view.rows = k;
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

// Adds the ops that compute K or V for a block of rows.
void Lowering::whole_side(const LayerState& layer, int side) {
  const bool stored = !layer.plan.panels || layer.plan.beside > 0;
  View rows = stored ? key_slot(layer, side) : block(BufferId::ffn, layer.key_width);
  rows.ld = layer.key_width;  // rows next to one another: what every GEMM provider writes fastest
  project_rows(layer, side, rows);
  if (layer.plan.panels) pack_block(layer, side, rows, 0);
}

// Adds E (Z W), which compresses the rows that whole_side() stored. E's first rows begin at the text's first row, and
// its last `end_rows` rows end at the text's last row. The rows of exact tokens are overwritten afterwards.
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

void Lowering::keys_beside(LayerState* layer, int sides) {
  const int64_t k = layer->plan.beside;
  layer->attend.keys_beside = beside(layer->attend.keys, k);
  layer->attend.values_beside = beside(layer->attend.values, k);
  for (int side = 0; side < sides; ++side) compress_beside(*layer, side);
  if (!layer->plan.panels) return;
  key_stage(*layer, Domain::compressed_rows, {}, k, false);
  for (int side = 0; side < sides; ++side) pack_block(*layer, side, beside(key_slot(*layer, side), k), k);
}

void Lowering::whole_keys(LayerState* layer) {
  const int sides = layer->value_is_key ? 1 : 2;
  for (int side = 0; side < sides; ++side) {
    if (side == 0 || !layer->plan.converts_once) key_stage(*layer, Domain::source_rows, {}, 0, side > 0);
    whole_side(*layer, side);
  }
  if (layer->attend.beside > 0) keys_beside(layer, sides);
}

}  // namespace LINFORMER_NAMESPACE
