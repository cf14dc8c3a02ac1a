// How a layer is computed on a target: what changes its ops and buffers, and not what they mean.
#pragma once

#include <cstdint>

#include "base/description.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

struct LayerPlan {
  int64_t longest = 0;             // the most rows that a sequence's keys are made of
  bool whole_keys = false;         // keys have a row for each row that they are made of
  bool one_projection = false;     // one linear E makes the keys of all heads, and one their values
  bool shared_projection = false;  // both are the same
  // Sequences of fewer rows than this are projected before they are compressed.
  int64_t project_first_below = 0;
  int64_t short_below = 0;     // sequences of fewer rows: scores are compressed instead of keys; 0: of none
  bool panels = false;         // products read K^T and V as panels
  bool converts_once = false;  // Z is converted once for the products of keys and of values
  ElementType attention = ElementType::f32;  // of scores and context
  int64_t score_rows = 0;                    // of a buffer of scores; 0: queries attend without one
  // Type of the context that the output projection reads; f32: the context overwrites the queries.
  ElementType context = ElementType::f32;

  // Columns of the feed-forward network's inner width that are made and consumed at once in `slice_type`; 0: all, in
  // f32.
  int64_t slice = 0;
  ElementType slice_type = ElementType::f32;
  int64_t rounded_multiple = 0;  // a product writes slice_type where a slice is a multiple of so many columns; 0: never
  bool dense_gate = false;       // a gate's result has a leading dimension of its own width, not that of its input

  bool by_head() const { return !whole_keys && !one_projection; }
  bool rounds(int64_t columns) const { return rounded_multiple > 0 && columns % rounded_multiple == 0; }
};

// A pure function. The thresholds depend on the model, on whether the target reads panels and on the type in which it
// computes attention: a sequence takes the same path in every session with the same target.
LayerPlan plan_layer(const ModelDescription& description, const EncoderDescription& encoder,
                     const LayerDescription& layer, const Extents& extents, const Target& target);

// The type in which a product with this weight is computed.
ElementType product_type(const TensorDescription& weight, const Target& target);

}  // namespace LINFORMER_NAMESPACE
