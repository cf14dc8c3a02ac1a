#include <algorithm>

#include "base/checked.h"
#include "base/memory.h"
#include "plan/declare.h"

namespace linformer {
namespace {

class AttentionBuilder {
 public:
  AttentionBuilder(const EncoderDescription& encoder, Declarations* declarations, LayerProgram* layer, Program* program)
      : encoder_(encoder),
        attention_(layer->description->attention),
        declarations_(*declarations),
        layer_(*layer),
        program_(*program) {}

  Status build() {
    const SessionOptions& options = program_.plan.options;
    layer_.value_is_key = attention_.value_is_key;
    layer_.sides[key_side].linear = &attention_.key;
    layer_.sides[value_side].linear = &attention_.value;
    longest_ = attention_.key_source == KeySource::own      ? options.max_tokens
               : attention_.key_source == KeySource::memory ? options.max_memory
                                                            : std::max(options.max_tokens, options.max_memory);
    choose_path();
    LINFORMER_TRY(add_groups());
    for (Side which : {key_side, value_side}) {
      if (which == value_side && layer_.value_is_key) continue;
      LINFORMER_TRY(side(which));
    }
    LINFORMER_TRY(scores_and_context());
    reserve();
    return {};
  }

 private:
  const std::vector<uint32_t>& list(Side which) const {
    return which == key_side || attention_.value_is_key ? attention_.key_projections : attention_.value_projections;
  }
  const Projection& projection_of(Side which, size_t group) const {
    const std::vector<uint32_t>& indices = list(which);
    return encoder_.projections[indices[indices.size() == 1 ? 0 : group]];
  }
  bool packs() const { return program_.packs; }

  void choose_path() {
    const Projection& key = projection_of(key_side, 0);
    const Projection& value = projection_of(value_side, 0);
    if (key.kind == ProjectionKind::none) {
      layer_.path = AttentionPath::full;
    } else if (list(key_side).size() == 1 && list(value_side).size() == 1 && key.kind == ProjectionKind::linear &&
               value.kind == ProjectionKind::linear) {
      layer_.path = AttentionPath::shared_projection;
      layer_.sides[key_side].projection = &key;
      layer_.sides[value_side].projection = &value;
      layer_.shared_projection = key.weight == value.weight;
    } else {
      layer_.path = AttentionPath::by_head;
    }
  }

  Status add_groups() {
    const bool each_head = list(key_side).size() > 1 || list(value_side).size() > 1;
    const size_t groups = each_head ? attention_.heads : attention_.kv_heads;
    if (!resize(&layer_.groups, groups)) {
      return Status::error(Code::out_of_memory, "no memory for the attention of %zu heads", groups);
    }
    int64_t key_row = 0, packed = 0;
    for (size_t g = 0; g < layer_.groups.size(); ++g) {
      GroupProgram& group = layer_.groups[g];
      for (Side which : {key_side, value_side}) group.projections[which] = &projection_of(which, g);
      group.k = group.projections[key_side]->k;
      group.column = attention_.kv_heads == 1 ? 0 : static_cast<int64_t>(g) * head_dim();
      group.key_row = key_row;
      group.packed = packed;
      key_row += group.k * head_dim();
      packed += std::max(panel_elements(head_dim(), group.k), panel_elements(group.k, head_dim()));
      layer_.k = std::max(layer_.k, group.k);
    }
    key_elements_ = key_row;
    packed_elements_ = packed;
    return {};
  }

  int64_t head_dim() const { return attention_.head_dim; }

  // Multiply-adds of both sides for a text of n rows, compressed first:
  //   (1 or 2) n k d + 2 k d D;  projected first: 2 n d D + 2 n k D.
  // Compressing first wins from n = 2 k d D / (2 d D + 2 k D - c k d) on, c = 1 when E = F, else 2. With a
  // projection for each head it would take heads n k d: such layers always project first.
  int64_t project_first_below() const {
    const int64_t always = encoder_.max_tokens + int64_t{1};
    if (layer_.path != AttentionPath::shared_projection || attention_.row_mask == RowMask::zeroed) return always;
    const double d = static_cast<double>(layer_.source_width), width = static_cast<double>(layer_.key_width);
    const double rows = static_cast<double>(layer_.k);
    const double gain = 2 * d * width + 2 * rows * width - (layer_.shared_projection ? 1 : 2) * rows * d;
    if (gain <= 0) return always;
    const double equal = 2 * rows * d * width / gain;
    return equal >= encoder_.max_tokens ? always : static_cast<int64_t>(equal) + 1;
  }

  Status side(Side which) {
    SideProgram& side = layer_.sides[which];
    const bool has_bias = side.linear->bias != absent;
    const Projection& first = projection_of(which, 0);
    side.bias_after = has_bias && first.kind == ProjectionKind::linear && first.order == ProjectionOrder::before_linear;
    if (which == key_side) layer_.project_first_below = project_first_below();
    if (layer_.path == AttentionPath::shared_projection) return shared_side(which, has_bias);
    GemmDesc shape = declarations_.linear_shape(*side.linear);
    shape.bias = has_bias && !side.bias_after;
    LINFORMER_TRY(declarations_.add(shape, &side.linear_first));
    if (layer_.path == AttentionPath::full) return {};
    for (GroupProgram& group : layer_.groups) LINFORMER_TRY(compress_group(which, &group));
    return {};
  }

  Status shared_side(Side which, bool has_bias) {
    SideProgram& side = layer_.sides[which];
    const bool has_row_bias = side.projection->bias != absent;
    program_.plan.project_first_below = std::max(program_.plan.project_first_below, layer_.project_first_below);
    GemmDesc compress;
    compress.max_m = side.projection->k;
    compress.layout = RightLayout::row_major;
    compress.k = longest_;
    compress.varying_k = true;
    if (longest_ >= layer_.project_first_below) {
      if (which == key_side || !layer_.shared_projection) {
        compress.n = std::min(layer_.source_width, compress_columns);
        compress.varying_n = layer_.source_width % compress.n != 0;
        LINFORMER_TRY(declarations_.add(compress, &side.compress));
      }
      GemmDesc shape = declarations_.linear_shape(*side.linear);
      shape.bias = side.bias_after;
      shape.row_bias = has_row_bias;
      side.needs_row_sums = has_bias && !side.bias_after;
      LINFORMER_TRY(declarations_.add(shape, &side.linear_after));
    }
    if (layer_.project_first_below <= 1) return {};
    GemmDesc shape = declarations_.linear_shape(*side.linear);
    shape.bias = has_bias && !side.bias_after;
    LINFORMER_TRY(declarations_.add(shape, &side.linear_first));
    compress.k = std::min(longest_, layer_.project_first_below - 1);
    compress.n = layer_.key_width;
    compress.varying_n = false;
    compress.bias = side.bias_after;
    compress.row_bias = has_row_bias;
    return declarations_.add(compress, &side.compress_after);
  }

  // E (Z W) of one head, or the first and later taps of its convolution. Pooling needs no product.
  Status compress_group(Side which, GroupProgram* group) {
    const Projection& projection = *group->projections[which];
    GemmDesc shape;
    shape.max_m = projection.k;
    shape.n = head_dim();
    if (projection.kind == ProjectionKind::linear) {
      shape.layout = RightLayout::row_major;
      shape.k = longest_;
      shape.varying_k = true;
      shape.bias = layer_.sides[which].bias_after;
      shape.row_bias = projection.bias != absent;
      return declarations_.add(shape, &group->compress[which]);
    }
    if (projection.kind != ProjectionKind::convolution) return {};
    shape.layout = RightLayout::transposed;
    shape.k = head_dim();
    shape.bias = projection.bias != absent;
    LINFORMER_TRY(declarations_.add(shape, &group->compress[which]));
    shape.bias = false;
    shape.accumulate = true;
    return declarations_.add(shape, &group->compress_more[which]);
  }

  Status scores_and_context() {
    const bool full = layer_.path == AttentionPath::full;
    for (GroupProgram& group : layer_.groups) {
      const bool varies = full || group.projections[key_side]->kind != ProjectionKind::linear;
      GemmDesc scores;
      scores.max_m = program_.plan.block_rows;
      scores.n = full ? program_.plan.block_rows : group.k;
      scores.varying_n = varies;
      scores.k = head_dim();
      scores.layout = packs() ? RightLayout::panel16 : RightLayout::transposed;
      LINFORMER_TRY(declarations_.add(scores, &group.scores));
      GemmDesc context;
      context.max_m = program_.plan.block_rows;
      context.n = head_dim();
      context.k = scores.n;
      context.varying_k = varies;
      context.layout = packs() ? RightLayout::panel16 : RightLayout::row_major;
      LINFORMER_TRY(declarations_.add(context, &group.context));
      program_.scores_stride = std::max(program_.scores_stride, round_up(scores.n, panel_width));
      if (!full) continue;
      context.accumulate = true;
      LINFORMER_TRY(declarations_.add(context, &layer_.context_add));
    }
    return {};
  }

  void reserve() {
    Program& p = program_;
    if (layer_.path == AttentionPath::full) {
      const int64_t width =
          packs() ? static_cast<int64_t>(layer_.groups.size()) * round_up(head_dim(), panel_width) : layer_.key_width;
      p.full_width = std::max(p.full_width, width);
      p.context_stride = std::max(p.context_stride, round_up(head_dim(), panel_width));
      if (packs()) p.ffn_stride = std::max(p.ffn_stride, layer_.key_width);
      return;
    }
    p.key_elements =
        std::max(p.key_elements, layer_.path == AttentionPath::by_head ? key_elements_ : layer_.k * layer_.key_width);
    const int64_t projected_first = std::min(longest_, layer_.project_first_below - 1) * layer_.key_width;
    const int64_t compressed =
        layer_.path == AttentionPath::by_head ? 0 : layer_.k * std::max(layer_.source_width, layer_.key_width);
    p.compressed_elements =
        std::max({p.compressed_elements, compressed, packs() ? packed_elements_ : 0, projected_first});
  }

  const EncoderDescription& encoder_;
  const AttentionDescription& attention_;
  Declarations& declarations_;
  LayerProgram& layer_;
  Program& program_;
  int64_t longest_ = 0;  // rows that keys and values are made of
  int64_t key_elements_ = 0, packed_elements_ = 0;
};

}  // namespace

Status Declarations::add(const GemmDesc& shape, int* id) {
  Result<int> added = provider_->add(shape);
  if (!added.ok()) return added.status();
  *id = added.value();
  return {};
}

GemmDesc Declarations::linear_shape(const Linear& linear) const {
  GemmDesc shape;
  shape.max_m = block_rows_;
  shape.n = outputs(linear);
  shape.k = inputs(linear);
  shape.type = tensor(linear.weight).type;
  return shape;
}

Status Declarations::linear(const Linear& linear, Activation activation, bool residual, int* id) {
  GemmDesc shape = linear_shape(linear);
  shape.activation = activation;
  shape.bias = linear.bias != absent;
  shape.residual = residual;
  return add(shape, id);
}

Status declare_attention(const EncoderDescription& encoder, Declarations* declarations, LayerProgram* layer,
                         Program* program) {
  return AttentionBuilder(encoder, declarations, layer, program).build();
}

}  // namespace linformer
