#include "text/added_tokens.h"

#include "text/unicode.h"

namespace linformer {
namespace {

constexpr uint32_t no_node = UINT32_MAX;

size_t edge_hash(uint32_t node, uint8_t byte) {
  return static_cast<size_t>((uint64_t{node} << 8 | byte) * 0x9E3779B97F4A7C15u >> 20);
}

Status no_memory() { return Status::error(Code::out_of_memory, "no memory for the tokenizer's added tokens"); }

uint32_t code_point_before(std::string_view text, size_t at) {
  do {
    --at;
  } while (is_continuation(text[at]));
  return next_code_point(text.data(), &at);
}

uint32_t code_point_at(std::string_view text, size_t at) { return next_code_point(text.data(), &at); }

}  // namespace

uint32_t AddedTokens::child(uint32_t node, uint8_t byte) const {
  if (node == 0) return root_[byte];
  if (edges_.empty()) return 0;
  const size_t mask = edges_.size() - 1;
  for (size_t slot = edge_hash(node, byte) & mask;; slot = (slot + 1) & mask) {
    const Edge& edge = edges_[slot];
    if (edge.node == no_node) return 0;
    if (edge.node == node && edge.byte == byte) return edge.target;
  }
}

Status AddedTokens::insert_edge(uint32_t node, uint8_t byte, uint32_t target) {
  if (node == 0) {
    root_[byte] = target;
    return {};
  }
  const auto place = [](Array<Edge>& edges, const Edge& edge) {
    const size_t mask = edges.size() - 1;
    size_t slot = edge_hash(edge.node, edge.byte) & mask;
    while (edges[slot].node != no_node) slot = (slot + 1) & mask;
    edges[slot] = edge;
  };
  if (2 * (edge_count_ + 1) > edges_.size()) {
    Array<Edge> larger;
    if (!larger.assign(edges_.empty() ? 64 : edges_.size() * 2, {no_node, 0, 0})) return no_memory();
    for (const Edge& edge : edges_) {
      if (edge.node != no_node) place(larger, edge);
    }
    edges_ = std::move(larger);
  }
  place(edges_, {node, target, byte});
  ++edge_count_;
  return {};
}

Status AddedTokens::add(const AddedToken& token, std::string_view content) {
  if (content.empty()) return {};
  if (content.size() > max_added_token_bytes) {
    return Status::error(Code::unsupported, "the added token with id %d has %zu bytes; at most %zu are supported",
                         token.id, content.size(), max_added_token_bytes);
  }
  if (valid_utf8_prefix(content) != content.size()) {
    return Status::error(Code::corrupt_file, "the added token with id %d is not valid UTF-8", token.id);
  }
  if (node_token_.empty() && !node_token_.push(-1)) return no_memory();
  uint32_t node = 0;
  for (char c : content) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(node_token_.size());
      if (!node_token_.push(-1)) return no_memory();
      LINFORMER_TRY(insert_edge(node, byte, next));
    }
    node = next;
  }
  if (node_token_[node] >= 0) return {};
  node_token_[node] = static_cast<int32_t>(tokens_.size());
  if (!tokens_.push({token.id, token.special, token.single_word, token.strip_left, token.strip_right})) {
    return no_memory();
  }
  return {};
}

bool AddedTokens::find(std::string_view text, size_t unclaimed, bool match_special, size_t* from, Match* match) const {
  if (tokens_.empty()) return false;
  size_t at = *from;
  while (at < text.size()) {
    int32_t longest = -1;
    size_t end = at;
    uint32_t node = 0;
    for (size_t i = at; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node == 0) break;
      if (node_token_[node] >= 0) {
        longest = node_token_[node];
        end = i + 1;
      }
    }
    if (longest < 0) {
      ++at;
      continue;
    }
    const Token& token = tokens_[static_cast<size_t>(longest)];
    size_t begin = at;
    at = end;  // a token that is passed over still uses its characters up
    if (token.special && !match_special) continue;
    if (token.single_word && ((begin > 0 && is_word_character(code_point_before(text, begin))) ||
                              (end < text.size() && is_word_character(code_point_at(text, end))))) {
      continue;
    }
    if (token.strip_left) {
      while (begin > unclaimed && is_white_space(code_point_before(text, begin))) {
        do {
          --begin;
        } while (is_continuation(text[begin]));
      }
    }
    if (token.strip_right) {
      for (size_t i = end; i < text.size() && is_white_space(next_code_point(text.data(), &i));) end = i;
    }
    // The search goes on where the token's own characters end, but never inside spaces that it took.
    *from = end;
    *match = {&token, begin, end};
    return true;
  }
  return false;
}

}  // namespace linformer
