// A trie of tokens. A single walk finds all tokens that begin at a place of a text. A node takes nine bytes.
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
  // Builds the trie of `entries`, which may have any order and are sorted. If several entries have equal bytes, the
  // largest token is kept. Entries without bytes are left out. The only error is out_of_memory.
  Status create(Array<Entry>* entries);

  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = UINT32_MAX;
  // Returns the child of `node` for `byte`; `none` if no token continues with this byte.
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
  int32_t token(uint32_t node) const { return nodes_[node].token; }  // -1 if no token ends at this node.

  // Nodes lie level by level. The children of a node are the nodes [first_child(node), first_child(node + 1)); label()
  // is the byte that leads to a node.
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()) - 1; }
  uint32_t first_child(uint32_t node) const { return nodes_[node].first_child; }
  uint8_t label(uint32_t node) const { return labels_[node]; }

  // Returns the token with exactly these bytes; -1 if there is none.
  int32_t find(std::string_view bytes) const;

 private:
  struct Node {
    uint32_t first_child;  // Children lie side by side, sorted by byte, and end where the next node's children begin.
    int32_t token;
  };
  Array<Node> nodes_;
  Array<uint8_t> labels_;  // The byte that leads to each node.
  uint32_t root_[256] = {};
};

}  // namespace LINFORMER_NAMESPACE
