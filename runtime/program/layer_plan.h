// How a layer is computed on a target: what changes its ops and buffers, and not what they mean.
#pragma once

#include <cstdint>

#include "base/description.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

struct LayerPlan {
  int64_t longest = 0;             // rows that keys are made of
  bool whole_keys = false;         // full attention
  bool one_projection = false;     // one linear E makes the keys of all heads, and one their values
  bool shared_projection = false;  // both are the same
  // Texts of fewer rows than this are projected before they are compressed.
  int64_t project_first_below = 0;
  int64_t short_below = 0;     // texts of fewer rows: their scores are compressed instead of their keys; 0: of none
  bool panels = false;         // products read K^T and V as panels
  bool converts_once = false;  // rows that products of another type read serve keys and values
  ElementType attention = ElementType::f32;  // of scores and context
  int64_t score_rows = 0;                    // of a buffer of scores; 0: queries attend without one
  // What the output projection reads the context in; f32: it takes the queries' place.
  ElementType context = ElementType::f32;

  // Columns of the feed-forward network's inner width that are made and consumed at once in `slice_type`; 0: all, in
  // f32.
  int64_t slice = 0;
  ElementType slice_type = ElementType::f32;
  int64_t rounded_multiple = 0;  // slices of multiples of so many columns are written in that type at once; 0: none
  bool dense_gate = false;       // rows behind a gate lie next to one another, not as far apart as before it

  bool by_head() const { return !whole_keys && !one_projection; }
  bool rounds(int64_t columns) const { return rounded_multiple > 0 && columns % rounded_multiple == 0; }
};

// A pure function. Where texts take another path, it depends on the model and on whether the target reads panels, so
// that a text takes the same path in every session.
LayerPlan plan_layer(const ModelDescription& description, const EncoderDescription& encoder,
                     const LayerDescription& layer, const Extents& extents, const Target& target);

// What rows are multiplied in with a weight.
ElementType product_type(const TensorDescription& weight, const Target& target);

}  // namespace LINFORMER_NAMESPACE
