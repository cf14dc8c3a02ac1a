// The decisions on how a layer is computed on a target. They change its ops and buffers, but not its result apart from
// rounding. Z are the rows that keys and values are computed from, E is the projection that compresses them, K are the
// keys and V the values.
#pragma once

#include <cstdint>

#include "base/description.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

struct LayerPlan {
  int64_t longest = 0;             // The most rows that a sequence's keys can be computed from.
  bool whole_keys = false;         // Whether there is one key for each row of Z.
  bool one_projection = false;     // Whether one linear E compresses the keys of all heads, and one their values.
  bool shared_projection = false;  // Whether keys and values have the same projection.
  // Sequences of fewer rows than this are multiplied by the weight before they are compressed.
  int64_t project_first_below = 0;
  // For sequences of fewer rows than this, scores are compressed instead of keys. If 0, this never happens.
  int64_t short_below = 0;
  bool panels = false;                       // Whether products read K^T and V as panels.
  bool converts_once = false;                // Whether Z is converted once for the products of keys and of values.
  ElementType attention = ElementType::f32;  // The type in which scores and context are computed.
  int64_t score_rows = 0;                    // The rows of the buffer of scores. If 0, there is no such buffer.
  // The type of the context that the output projection reads. If it is f32, the context overwrites the queries.
  ElementType context = ElementType::f32;

  // The feed-forward network is computed in slices of this many columns of its inner width, each stored in
  // `slice_type`. If 0, the whole inner width is computed at once and stored in f32.
  int64_t slice = 0;
  ElementType slice_type = ElementType::f32;
  // A product writes a slice in slice_type directly if the slice's width is a multiple of this. If 0, none does, and
  // the slice is converted afterwards.
  int64_t rounded_multiple = 0;
  // Whether the leading dimension of a gate's result is the result's width. Otherwise it is that of the gate's input.
  bool dense_gate = false;

  // Returns whether the keys of each head are compressed separately.
  bool compresses_by_head() const { return !whole_keys && !one_projection; }
  // Returns whether a product writes a slice of this many columns in slice_type directly.
  bool product_rounds_slice(int64_t columns) const { return rounded_multiple > 0 && columns % rounded_multiple == 0; }
};

// Decides how a layer is computed. It is a pure function. The thresholds depend on the model, on target.packs and on
// the type in which the target computes attention, so a sequence takes the same path in every session with the same
// target.
LayerPlan plan_layer(const ModelDescription& description, const EncoderDescription& encoder,
                     const LayerDescription& layer, const Extents& extents, const Target& target);

// Returns the type in which a product with this weight is computed.
ElementType product_type(const TensorDescription& weight, const Target& target);

}  // namespace LINFORMER_NAMESPACE
