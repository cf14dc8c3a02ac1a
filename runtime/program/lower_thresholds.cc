// From which length on a sequence's keys and values are compressed before they are projected, and below which they are
// not compressed at all.
#include <cmath>

#include "base/description.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {

// Multiply-adds of both sides for a sequence of n rows, compressed first:
//   (1 or 2) n k d + 2 k d D;  projected first: 2 n d D + 2 n k D.
// Compressing first wins from n = 2 k d D / (2 d D + 2 k D - c k d) on, c = 1 when E = F, else 2. With a projection
// for each head it would take heads n k d: such layers always project first.
// It depends on the model alone, so a sequence takes the same path in every session.
int64_t Lowering::project_first_below(const LayerState& layer, bool shared, bool one_projection) const {
  const int64_t always = encoder_.max_tokens + int64_t{1};
  const bool rotates = layer.description->attention.rotary_base != 0;
  if (!one_projection || rotates || layer.zeroes_masked) return always;
  const KeyGroup& group = program_.group(layer.attend.groups, 0);
  const double d = static_cast<double>(inputs(layer.description->attention.key));
  const double width = static_cast<double>(layer.key_width), k = static_cast<double>(group.k);
  const double gain = 2 * d * width + 2 * k * width - (shared ? 1 : 2) * k * d;
  if (gain <= 0) return always;
  const double equal = 2 * k * d * width / gain;
  return equal >= encoder_.max_tokens ? always : static_cast<int64_t>(equal) + 1;
}

// Multiply-adds of a sequence of n rows, keys and queries together:
//   scores compressed: 2 n d D + 2 n n (D + heads k);  E (Z W): 2 n d D + 4 n k D;  (E Z) W: (1 or 2) n k d + 2 k d D
//   + 2 n k D.
// The first is the least below n = 2 k D / (D + heads k), or where that is no less than the others' threshold, below
// the root of its difference to the last. It takes panels, and a dialect where nothing but E lies between Z W and the
// keys; and E isn't rounded for it. It depends on the model alone, too.
void Lowering::choose_short(LayerState* layer, bool shared) const {
  ops::Attend& attend = layer->attend;
  const KeyGroup& group = program_.group(attend.groups, 0);
  const int64_t always = encoder_.max_tokens + int64_t{1};
  if (!program_.target.packs || layer->threshold >= always) return;
  for (const HeadProjection& projection : group.projections) {
    if (projection.row_bias.present() || projection.length_scale != LengthScale::none) return;
    if (attend.compute == ElementType::bf16 && projection.weight.type != ElementType::bf16) return;
  }
  const double d = static_cast<double>(inputs(layer->description->attention.key)), k = static_cast<double>(group.k);
  const double width = static_cast<double>(layer->key_width);
  const double all = static_cast<double>(attend.heads * attend.d_head);
  const double squares = 2 * (all + static_cast<double>(attend.heads) * k);
  const auto below = [&](double equal) {
    return equal >= encoder_.max_tokens ? always : static_cast<int64_t>(equal) + 1;
  };
  attend.short_below = below(2 * k * (width + all) / squares);
  if (attend.short_below < layer->threshold) return;
  const double rows = 2 * d * width - (shared ? 1 : 2) * k * d - 2 * k * all, constant = 2 * k * d * width;
  attend.short_below = below((std::sqrt(rows * rows + 4 * squares * constant) - rows) / (2 * squares));
  layer->threshold = attend.short_below;
}

}  // namespace LINFORMER_NAMESPACE
