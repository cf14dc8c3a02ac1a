// Functions that the lowering of compressed keys and the lowering of whole keys share.
#pragma once

#include "base/description.h"
#include "program/arena.h"

namespace LINFORMER_NAMESPACE {

constexpr int key_side = 0, value_side = 1;

inline BufferId compressed_of(int side) {
  return side == key_side ? BufferId::compressed_key : BufferId::compressed_value;
}
inline BufferId keys_of(int side) { return side == key_side ? BufferId::keys : BufferId::values; }

inline const Linear& linear_of(const AttentionDescription& attention, int side) {
  return side == key_side ? attention.key : attention.value;
}

// Returns whether the bias of the linear layer is added after E instead of to Z W.
inline bool bias_after(const Linear& linear, const Projection& first) {
  return linear.bias != absent && first.kind == ProjectionKind::linear && first.order == ProjectionOrder::before_linear;
}

}  // namespace LINFORMER_NAMESPACE
