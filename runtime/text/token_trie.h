// All tokens that a text continues with, found in one walk. Nine bytes for each node.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

class TokenTrie {
 public:
  struct Entry {
    std::string_view bytes;
    int32_t token;
  };
  // Takes `entries` in any order and sorts them; of equal bytes the largest token counts. Empty ones are left out.
  Status create(Array<Entry>* entries);

  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = UINT32_MAX;
  // The node behind `byte`, none where no token goes on like this.
  uint32_t child(uint32_t node, uint8_t byte) const {
    if (node == root) return root_[byte];
    uint32_t low = nodes_[node].first_child, high = nodes_[node + 1].first_child;
    while (high - low > 8) {
      const uint32_t middle = low + (high - low) / 2;
      if (labels_[middle] <= byte) {
        low = middle;
      } else {
        high = middle;
      }
    }
    for (; low < high; ++low) {
      if (labels_[low] == byte) return low;
    }
    return none;
  }
  int32_t token(uint32_t node) const { return nodes_[node].token; }  // -1: only a beginning of tokens

  // Nodes lie level by level; a node's children are [first_child(node), first_child(node + 1)), each behind its label.
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()) - 1; }
  uint32_t first_child(uint32_t node) const { return nodes_[node].first_child; }
  uint8_t label(uint32_t node) const { return labels_[node]; }

  // The token with exactly these bytes, -1 when there is none.
  int32_t find(std::string_view bytes) const;

 private:
  struct Node {
    uint32_t first_child;  // children lie side by side, by byte, and end where the next node's begin
    int32_t token;
  };
  Array<Node> nodes_;
  Array<uint8_t> labels_;  // the byte that leads to each node
  uint32_t root_[256] = {};
};

}  // namespace LINFORMER_NAMESPACE
