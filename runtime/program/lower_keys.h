// Functions that the lowering of compressed keys and the lowering of whole keys share.
#pragma once

#include "base/description.h"
#include "program/arena.h"

namespace LINFORMER_NAMESPACE {

constexpr int key_side = 0, value_side = 1;

inline BufferId compressed_buffer(int side) {
  return side == key_side ? BufferId::compressed_key : BufferId::compressed_value;
}
inline BufferId key_or_value_buffer(int side) { return side == key_side ? BufferId::keys : BufferId::values; }

inline const Linear& linear_of(const AttentionDescription& attention, int side) {
  return side == key_side ? attention.key : attention.value;
}

// Returns whether the bias of the linear layer is added after E instead of to Z W.
inline bool adds_bias_after_projection(const Linear& linear, const Projection& projection) {
  return linear.bias != absent && projection.kind == ProjectionKind::linear &&
         projection.order == ProjectionOrder::before_linear;
}

}  // namespace LINFORMER_NAMESPACE
