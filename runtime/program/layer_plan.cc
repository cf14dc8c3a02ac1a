#include "program/layer_plan.h"

#include <cmath>

#include "base/matrix.h"

namespace LINFORMER_NAMESPACE {
namespace {

class Planner {
 public:
  Planner(const ModelDescription& description, const EncoderDescription& encoder, const LayerDescription& layer,
          const Extents& extents, const Target& target)
      : description_(description),
        encoder_(encoder),
        layer_(layer),
        attention_(layer.attention),
        extents_(extents),
        target_(target) {}

  LayerPlan plan() {
    plan_keys();
    plan_.panels = target_.packs;
    plan_.attention = target_.attention_type(tensor(attention_.query.weight).type);
    plan_.converts_once = product(attention_.key) != ElementType::f32;
    if (!target_.device) plan_.score_rows = plan_.whole_keys ? extents_.full_attention_queries() : extents_.block_rows;
    if (target_.device) plan_.context = target_.all;
    plan_.project_first_below = project_first_below();
    if (plan_.one_projection) choose_short();
    plan_feed_forward();
    return plan_;
  }

 private:
  const TensorDescription& tensor(TensorIndex index) const { return description_.tensors[static_cast<size_t>(index)]; }
  double inputs(const Linear& linear) const { return static_cast<double>(tensor(linear.weight).shape[1]); }
  ElementType product(const Linear& linear) const { return product_type(tensor(linear.weight), target_); }
  const Projection& key() const { return encoder_.projections[attention_.key_projections[0]]; }
  const Projection& value() const {
    return encoder_
        .projections[attention_.value_is_key ? attention_.key_projections[0] : attention_.value_projections[0]];
  }
  // Returns a threshold that is larger than the number of rows of every sequence.
  int64_t above_all_lengths() const { return encoder_.max_tokens + int64_t{1}; }
  // Returns the smallest threshold above `equal`, the number of rows at which two ways of computing cost the same.
  int64_t above(double equal) const {
    return equal >= encoder_.max_tokens ? above_all_lengths() : static_cast<int64_t>(equal) + 1;
  }

  void plan_keys() {
    plan_.longest = extents_.longest_source(attention_.key_source);
    plan_.whole_keys = key().kind == ProjectionKind::none || attention_.window > 0;
    const size_t values = attention_.value_is_key ? 1 : attention_.value_projections.size();
    plan_.one_projection = !plan_.whole_keys && attention_.key_projections.size() == 1 && values == 1 &&
                           key().kind == ProjectionKind::linear && value().kind == ProjectionKind::linear;
    plan_.shared_projection = key().weight == value().weight;
  }

  // Returns the number of rows below which a sequence is multiplied by the weight before it is compressed. The
  // multiply-adds of keys and values together, for a sequence of n rows of width d and keys of width D, are
  //   c n k d + 2 k d D if rows are compressed first, and 2 n d D + 2 n k D if they are multiplied by the weight first,
  // where c is 1 if keys and values have the same projection and 2 otherwise. Compressing first is cheaper from
  // n = 2 k d D / (2 d D + 2 k D - c k d) on. If each head has its own projection, compressing first would take
  // heads n k d, so such layers always multiply by the weight first.
  int64_t project_first_below() const {
    // Rotary positions and key norms are applied to each key, so it must exist before it is compressed.
    const bool changes_keys = attention_.rotary_base != 0 || attention_.key_norm.present();
    if (!plan_.one_projection || changes_keys || attention_.row_mask == RowMask::zeroed) return above_all_lengths();
    const double d = inputs(attention_.key), k = static_cast<double>(key().k), width = key_width();
    const double gain = 2 * d * width + 2 * k * width - sides() * k * d;
    return gain <= 0 ? above_all_lengths() : above(2 * k * d * width / gain);
  }

  // Decides for which sequences the scores are compressed instead of the keys. The multiply-adds of keys and queries
  // together, for a sequence of n rows of width d, are
  //   2 n d D + 2 n n (D + heads k) if scores are compressed,
  //   2 n d D + 4 n k D for E (Z W), and
  //   c n k d + 2 k d D + 2 n k D for (E Z) W, with c as in project_first_below().
  // Here D is kv_heads x head_dim for keys and heads x head_dim for queries. Compressing the scores is cheapest below
  // n = 2 k D / (D + heads k). If that exceeds the threshold between the two others, E (Z W) is never cheapest, and the
  // threshold is the positive root of cost(compressed scores) = cost((E Z) W). Compressing scores needs panels, keys
  // without rotation, norm, zeroed rows or length scale, an E without a bias, and an E in bf16 if attention is in bf16.
  void choose_short() {
    if (!target_.packs || plan_.project_first_below >= above_all_lengths()) return;
    for (const Projection* projection : {&key(), &value()}) {
      if (projection->bias != absent || projection->length_scale != LengthScale::none) return;
      const ElementType stored = tensor(projection->weight).type;
      if (plan_.attention == ElementType::bf16 && stored != ElementType::bf16) return;
    }
    const double d = inputs(attention_.key), k = static_cast<double>(key().k), width = key_width();
    const double heads = attention_.heads, all = heads * attention_.head_dim, squares = 2 * (all + heads * k);
    plan_.short_below = above(2 * k * (width + all) / squares);
    if (plan_.short_below < plan_.project_first_below) return;
    const double rows = 2 * d * width - sides() * k * d - 2 * k * all, constant = 2 * k * d * width;
    plan_.short_below = above((std::sqrt(rows * rows + 4 * squares * constant) - rows) / (2 * squares));
    plan_.project_first_below = plan_.short_below;
  }

  void plan_feed_forward() {
    plan_.dense_gate = !target_.device;
    if (!layer_.ffn_in.present()) return;
    // A device computes both factors of a gated network with one product. On a CPU a second product computes the second
    // factor, from the second half of the weight's columns. That half has to begin with a panel, because products read
    // whole panels.
    if (layer_.gated && (target_.device || tensor(layer_.ffn_in.weight).shape[0] / 2 % panel_width != 0)) return;
    const ElementType type = product(layer_.ffn_in);
    if (type == ElementType::f32 || product(layer_.ffn_out) != type) return;
    plan_.slice_type = type;
    plan_.slice = target_.device ? static_cast<int64_t>(tensor(layer_.ffn_in.weight).shape[0]) : int8_slice;
    // The bf16 epilogue writes no padding, so the width must be a multiple of what products read at once.
    // A gated network multiplies its two factors in f32 and rounds their product, so no GEMM writes a rounded slice.
    plan_.rounded_multiple = layer_.gated ? 0 : target_.device ? 1 : type == ElementType::bf16 ? 32 : 0;
  }

  double key_width() const { return static_cast<double>(attention_.kv_heads) * attention_.head_dim; }
  // Returns the number of different projections that keys and values have.
  double sides() const { return plan_.shared_projection ? 1 : 2; }

  const ModelDescription& description_;
  const EncoderDescription& encoder_;
  const LayerDescription& layer_;
  const AttentionDescription& attention_;
  const Extents& extents_;
  const Target& target_;
  LayerPlan plan_;
};

}  // namespace

LayerPlan plan_layer(const ModelDescription& description, const EncoderDescription& encoder,
                     const LayerDescription& layer, const Extents& extents, const Target& target) {
  return Planner(description, encoder, layer, extents, target).plan();
}

ElementType product_type(const TensorDescription& weight, const Target& target) {
  const bool multiplied_as_it_is = weight.layout == TensorLayout::panel16 || target.device;
  return multiplied_as_it_is ? target.compute_type(weight.type) : ElementType::f32;
}

}  // namespace LINFORMER_NAMESPACE
