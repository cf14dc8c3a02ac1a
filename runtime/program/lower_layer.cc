// Lowers one encoder layer, post-norm or pre-norm. Its ops work on blocks of rows that stay in the core's cache.
#include <algorithm>

#include "base/description.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {

// Adds the attention of a block of queries and returns the view of its context. A context in f32 replaces the queries.
// A context that is rounded to 16 bits lies in another buffer.
View Lowering::attend(const LayerState& layer, const View& query) {
  const ElementType type = layer.plan.context;
  if (type == ElementType::f32) {
    add(layer.attend).out = query;
    return query;
  }
  const View context = narrow_view(BufferId::low_precision_hidden, type, layer.attend.heads * layer.attend.d_head);
  ops::Attend& attend = add(layer.attend);
  attend.out = context;
  attend.query = query;
  return context;
}

// Multiplies the context by the output projection and adds the product to the layer's rows. Without a residual, the
// product replaces them. With an outer norm, the sum goes to a block, because a later op reads the layer's input.
void Lowering::attention_output(const LayerState& layer, const View& context, const View& target) {
  const LayerDescription& description = *layer.description;
  const AttentionDescription& attention = description.attention;
  if (attention.output_activation != Activation::none) add(ops::Activate{context, attention.output_activation});
  const View out = rows(BufferId::rows, layer.width_between);
  const int64_t inner = attention.output_second.present() ? outputs(attention.output) : 0;
  View residual = has_residual() ? out : View();
  if (has_residual() && description.attention_resample.present()) {
    residual = block(BufferId::ffn, layer.width_between, inner);
    gemm(target, description.attention_resample, residual);
  }
  if (!attention.output.present()) {
    if (!has_residual()) add(ops::Zero{out});
    if (residual.place == Place::block) add(ops::Copy{out, residual});
    add(ops::Add{out, context});
    return;
  }
  if (!attention.output_second.present()) {
    const bool twice = description.outer_norm.present();
    const View sum = twice ? block(BufferId::ffn, layer.width_between) : out;
    gemm(context, attention.output, sum).residual = residual;
    if (!twice) return;
    norm_in_place(description.attention_norm, sum);
    add(ops::Add{sum, out});
    norm(description.outer_norm, sum, out);
    return;
  }
  const View between = block(BufferId::ffn, inner);
  gemm(context, attention.output, between);
  gemm(between, attention.output_second, out).residual = residual;
}

// Adds the product of one slice of the feed-forward network's inner width: out = activation(left W + bias). The slice
// has the columns from `begin` to begin + out.cols of W and of the bias.
void Lowering::add_inner_slice(const Linear& linear, const View& left, int64_t begin, Activation activation,
                               const View& out) {
  ops::Gemm gemm;
  gemm.a = left;
  gemm.b = weight(linear.weight);
  gemm.first_n = begin;
  gemm.bias = weight(linear.bias);
  gemm.bias.cols = out.cols;
  gemm.bias.offset = begin;
  gemm.activation = activation;
  gemm.out = out;
  add(gemm);
}

// Adds the feed-forward network in slices of its inner width, so that a slice is read while it is still in the core's
// own cache. Each slice of activation(in W_in + bias) is computed in the buffer of the queries, which are no longer
// needed and whose buffer is still in that cache. Then out = first slice x its rows of W_out + bias + residual, and the
// products of the other slices are added to `out` in order.
void Lowering::sliced_feed_forward(const LayerState& layer, const View& in, const View& out, const View& residual) {
  const LayerDescription& description = *layer.description;
  const int64_t inner = outputs(description.ffn_in) / (description.gated ? 2 : 1);
  const ElementType type = layer.plan.slice_type;
  const View left = converted_for_product(in, type);
  for (int64_t begin = 0; begin < inner; begin += layer.plan.slice) {
    const int64_t width = std::min(layer.plan.slice, inner - begin);
    const bool rounded = layer.plan.product_rounds_slice(width);
    const View slice = narrow_view(rounded ? BufferId::query : BufferId::low_precision_hidden, type, width);
    const View hidden = rounded ? slice : block(BufferId::query, width);
    add_inner_slice(description.ffn_in, left, begin, description.activation, hidden);
    if (description.gated) {
      const View factor = block(BufferId::query, width, width);
      add_inner_slice(description.ffn_in, left, inner + begin, Activation::none, factor);
      add(ops::Gate{hidden, hidden, factor});
    }
    if (!rounded) add(ops::Convert{slice, hidden});
    ops::Gemm second;
    second.a = slice;
    second.b = weight(description.ffn_out.weight);
    second.first_k = begin;
    second.out = out;
    second.accumulate = begin > 0;
    if (begin == 0) {
      second.bias = weight(description.ffn_out.bias);
      second.residual = residual;
    }
    add(second);
  }
}

// Adds the feed-forward network: target += ffn(norm(input)) in a pre-norm model, target += ffn(input) in a post-norm
// model. `input` and `target` are the same rows, except in a reversible model.
void Lowering::feed_forward(const LayerState& layer, const View& input, const View& target) {
  const LayerDescription& description = *layer.description;
  View in = input;
  if (pre_norm() && description.ffn_norm.present()) {
    in = block(BufferId::query, layer.width_between);
    norm(description.ffn_norm, input, in);
  }
  const View out = buffer_view(target.place, target.buffer, layer.width_out, 0);
  View residual = has_residual() ? out : View();
  if (layer.plan.slice > 0) {
    if (has_residual() && description.ffn_resample.present()) {
      residual = block(BufferId::ffn, layer.width_out);  // `in` may lie in the buffer of the queries.
      gemm(target, description.ffn_resample, residual);
    }
    return sliced_feed_forward(layer, in, out, residual);
  }
  const int64_t inner = outputs(description.ffn_in);
  View hidden = block(BufferId::ffn, inner);
  gemm(in, description.ffn_in, hidden, description.gated ? Activation::none : description.activation);
  if (description.gated) {
    const View from = block(BufferId::ffn, inner / 2), factor = block(BufferId::ffn, inner / 2, inner / 2);
    View gated = from;
    // Every GEMM provider reads rows fastest if they follow one another without gaps. A device computes all rows at
    // once, so there the result stays in its place.
    if (layer.plan.dense_gate) gated.ld = inner / 2;
    add(ops::Gate{gated, from, factor, description.activation});
    hidden = gated;
  }
  if (has_residual() && description.ffn_resample.present()) {
    residual = block(BufferId::query, layer.width_out);
    gemm(target, description.ffn_resample, residual);
  }
  gemm(hidden, description.ffn_out, out).residual = residual;
}

void Lowering::lower_layer(size_t index, int64_t* width) {
  LayerState layer{};
  layer.description = &encoder_.layers[index];
  layer.plan = plan_layer(description_, encoder_, *layer.description, program_.extents, program_.target);
  layer.next = index + 1 < encoder_.layers.size() ? &encoder_.layers[index + 1] : nullptr;
  const LayerDescription& description = *layer.description;
  const AttentionDescription& attention = description.attention;
  layer.width_in = *width;
  layer.width_between = attention.output_second.present() ? outputs(attention.output_second)
                        : attention.output.present()      ? outputs(attention.output)
                                                          : int64_t{attention.heads} * attention.head_dim;
  layer.width_out = description.ffn_in.present() ? outputs(description.ffn_out) : layer.width_between;
  const bool normalizes = pre_norm() && description.attention_norm.present();
  const int32_t begin = stage_count();
  layer.key_rows.own = rows(normalizes ? BufferId::normalized : layer_input_buffer(), layer.width_in);
  lower_keys_and_values(&layer);
  program_.mixes_attention = program_.mixes_attention || (index > 0 && layer.attend.whole != last_.attend.whole);
  LayerSections& sections = program_.layers[index];
  sections.keys = section_from(begin);
  add_stage(Domain::row_blocks).key_rows = layer.key_rows;
  lower_layer_rows(layer);
  if (pre_norm() && layer.next != nullptr && layer.next->attention_norm.present()) {
    norm(layer.next->attention_norm, rows(layer_input_buffer(), layer.width_out),
         rows(BufferId::normalized, layer.width_out));
  }
  *width = layer.width_out;
  sections.stages = section_from(begin);
  sections.width = layer.width_out;
  sections.streams = reversible() ? 2 : 1;
  add_hidden_output(&sections.hidden, layer.width_out, sections.streams);
  last_ = layer;
}

// Adds the ops that compute each row of a layer's result, after the keys and values exist.
void Lowering::lower_layer_rows(const LayerState& layer) {
  const LayerDescription& description = *layer.description;
  const AttentionDescription& attention = description.attention;
  const bool normalizes = pre_norm() && description.attention_norm.present();
  const View target = rows(BufferId::rows, layer.width_in);
  const View query = block(BufferId::query, layer.attend.heads * layer.attend.d_head);
  gemm(rows(normalizes ? BufferId::normalized : layer_input_buffer(), layer.width_in), attention.query, query);
  norm_in_place(attention.query_norm, query);
  if (!first_only_) rotate(layer, query);  // The first row has position 0, whose rotation is the identity.
  attention_output(layer, attend(layer, query), target);
  const View between = rows(BufferId::rows, layer.width_between);
  if (!pre_norm() && !description.outer_norm.present()) norm_in_place(description.attention_norm, between);
  if (description.ffn_in.present()) {
    feed_forward(layer, between, rows(layer_input_buffer(), layer.width_between));
    const View out = rows(BufferId::rows, layer.width_out);
    if (!pre_norm()) norm_in_place(description.ffn_norm, out);
  }
}

}  // namespace LINFORMER_NAMESPACE
