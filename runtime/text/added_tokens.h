// Finds added tokens in a text: leftmost, then longest, with Hugging Face's lstrip, rstrip and single_word.
#pragma once

#include <string_view>

#include "base/array.h"
#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "text/token_trie.h"

namespace LINFORMER_NAMESPACE {

inline constexpr size_t max_added_token_bytes = 1024;

// Where tokens are in a text.
struct FoundTokens {
  struct Place {
    uint32_t begin;
    int32_t token;  // of AddedTokens
  };
  Array<Place> places;
  size_t next = 0;     // of places
  uint64_t steps = 0;  // nodes looked at, so that tests can bound the work without a clock
};

// An automaton (Aho and Corasick 1975) of the tokens spelt backwards reads the text from its end. So it knows at each
// byte the longest token that begins there, in time that grows with the text alone.
class AddedTokens {
 public:
  struct Token {
    int32_t id;
    uint32_t bytes;
    bool special, single_word, strip_left, strip_right;
  };
  struct Match {
    const Token* token;
    size_t begin, end;  // bytes, stripped spaces included
  };

  // Adds `token` under the name `content` (normalised already where that applies). Equal names with one id are the
  // first; with several they are unsupported, as finish() finds out. White space with strip_right is unsupported: each
  // would go through all the spaces behind it. `special`: next() passes over it where special tokens are not matched.
  Status add(const AddedToken& token, std::string_view content, bool special);
  // After the last one, before the first search.
  Status finish();
  bool empty() const { return tokens_.empty(); }

  // The tokens of `text`, valid UTF-8, one behind the other. False when there is no memory, or no number for its bytes.
  [[nodiscard]] bool find(std::string_view text, FoundTokens* found) const;
  // The next match of `text`, in which `found` was found; false when there is none. text[unclaimed, ...) may be taken
  // by strip_left. `match_special` false passes over special tokens.
  bool next(std::string_view text, size_t unclaimed, bool match_special, FoundTokens* found, Match* match) const;

 private:
  struct Link {
    uint32_t shorter;  // the node of the longest other beginning that this one ends with
    int32_t longest;   // token that this node's bytes end with; -1 = none
  };
  void link_nodes();

  Array<Token> tokens_;
  Array<char> backwards_;  // their names, one behind the other; until finish()
  TokenTrie trie_;
  Array<Link> links_;  // by node
};

}  // namespace LINFORMER_NAMESPACE
