#include "text/token_trie.h"

#include <algorithm>

namespace LINFORMER_NAMESPACE {
namespace {

// The range of entries below one node.
struct Children {
  uint32_t begin, end;
};

Status no_memory_for_trie() { return Status::error(Code::out_of_memory, "no memory for the tokenizer's tokens"); }

}  // namespace

Status TokenTrie::create(Array<Entry>* entries) {
  std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
    const int order = a.bytes.compare(b.bytes);
    return order != 0 ? order < 0 : a.token < b.token;
  });
  // Goes breadth first. The nodes of a level are made in the order of their parents, so siblings lie side by side.
  Array<Children> level, next_level;
  const auto count = static_cast<uint32_t>(entries->size());
  uint32_t first = 0;
  while (first < count && (*entries)[first].bytes.empty()) ++first;
  if (!nodes_.try_push({1, -1}) || !labels_.try_push(0) || !level.try_push({first, count})) return no_memory_for_trie();
  uint32_t node = 0;  // The node of the current range of the level.
  for (size_t depth = 0; !level.empty(); ++depth) {
    next_level.clear();
    for (const Children& range : level) {
      nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
      uint32_t at = range.begin;
      for (; at < range.end && (*entries)[at].bytes.size() == depth; ++at) nodes_[node].token = (*entries)[at].token;
      while (at < range.end) {
        const char label = (*entries)[at].bytes[depth];
        const uint32_t begin = at;
        while (at < range.end && (*entries)[at].bytes[depth] == label) ++at;
        if (nodes_.size() >= INT32_MAX) return no_memory_for_trie();
        if (!nodes_.try_push({0, -1}) || !labels_.try_push(static_cast<uint8_t>(label)) ||
            !next_level.try_push({begin, at})) {
          return no_memory_for_trie();
        }
      }
      ++node;
    }
    std::swap(level, next_level);
  }
  // An additional node marks the end of the last node's children.
  if (!nodes_.try_push({static_cast<uint32_t>(nodes_.size()), -1})) return no_memory_for_trie();
  std::fill(std::begin(root_), std::end(root_), none);
  for (uint32_t child = nodes_[0].first_child; child < nodes_[1].first_child; ++child) root_[labels_[child]] = child;
  return {};
}

int32_t TokenTrie::find(std::string_view bytes) const {
  uint32_t node = root;
  for (char byte : bytes) {
    node = child(node, static_cast<uint8_t>(byte));
    if (node == none) return -1;
  }
  return token(node);
}

}  // namespace LINFORMER_NAMESPACE
