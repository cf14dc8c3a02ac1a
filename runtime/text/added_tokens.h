// Finds added tokens in a text: leftmost, then longest, with Hugging Face's lstrip, rstrip and single_word.
#pragma once

#include <span>
#include <string_view>

#include "linformer/description.h"
#include "linformer/status.h"
#include "text/array.h"

namespace linformer {

// A match is never longer than this, which bounds a search to text bytes * max_added_token_bytes steps.
inline constexpr size_t max_added_token_bytes = 1024;

class AddedTokens {
 public:
  struct Token {
    int32_t id;
    bool special, single_word, strip_left, strip_right;
  };
  struct Match {
    const Token* token;
    size_t begin, end;  // bytes, stripped spaces included
  };

  // Adds `token` under the name `content` (normalised already where that applies). The first of equal names stays.
  Status add(const AddedToken& token, std::string_view content);
  bool empty() const { return tokens_.empty(); }

  // The first match in text[from, end); false when there is none. `text` is valid UTF-8; text[0, from) serves as
  // context, text[unclaimed, ...) may be taken by strip_left. `match_special` false passes over special tokens.
  // *from moves to where the next search begins.
  bool find(std::string_view text, size_t unclaimed, bool match_special, size_t* from, Match* match) const;

 private:
  struct Edge {
    uint32_t node;
    uint32_t target;
    uint8_t byte;
  };
  uint32_t child(uint32_t node, uint8_t byte) const;
  Status insert_edge(uint32_t node, uint8_t byte, uint32_t target);

  Array<Token> tokens_;
  Array<int32_t> node_token_;  // -1 = no token ends here
  Array<Edge> edges_;          // open addressing, a power of two; node = no_node where free
  size_t edge_count_ = 0;
  uint32_t root_[256] = {};  // 0 = none
};

}  // namespace linformer
