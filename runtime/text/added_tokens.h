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

// The added tokens that were found in a text.
struct FoundTokens {
  struct Place {
    uint32_t begin;
    int32_t token;  // An index into the list of AddedTokens.
  };
  Array<Place> places;
  size_t next = 0;     // The index of the place that AddedTokens::next() reads next.
  uint64_t steps = 0;  // The number of trie nodes visited, so that tests can bound the work without a clock.
};

// Finds added tokens by an automaton (Aho and Corasick 1975). The automaton contains the tokens' names spelt backwards
// and reads a text from its end, so at each byte it knows the longest token that begins there. Its time is linear in
// the text's length and doesn't depend on the tokens' lengths.
class AddedTokens {
 public:
  struct Token {
    int32_t id;
    uint32_t bytes;
    bool special, single_word, strip_left, strip_right;
  };
  struct Match {
    const Token* token;
    size_t begin, end;  // In bytes, including white space that strip_left and strip_right take.
  };

  // Adds `token` with the name `content`, which is already normalised if the token is to be found in normalised texts.
  // If several tokens have the same name and the same id, the first is used; if their ids differ, finish() returns
  // unsupported. A token of white space with strip_right is unsupported, because each occurrence would read all white
  // space after it. If `special` is true, next() skips the token when special tokens are not matched.
  Status add(const AddedToken& token, std::string_view content, bool special);
  // Builds the automaton. Must be called after the last add() and before the first search.
  Status finish();
  bool empty() const { return tokens_.empty(); }

  // Finds the tokens of `text`, which is valid UTF-8, in order and without overlaps. Returns false if there is no
  // memory, or if `text` has 2^32 bytes or more.
  [[nodiscard]] bool find(std::string_view text, FoundTokens* found) const;
  // Finds the next match in `text`; `found` must come from find() for the same text. Returns false if there is none.
  // strip_left takes no characters before text[strip_left_limit]. If `match_special` is false, special tokens are
  // skipped.
  bool next(std::string_view text, size_t strip_left_limit, bool match_special, FoundTokens* found, Match* match) const;

 private:
  struct Link {
    uint32_t shorter;  // The node of the longest shorter string in the trie that this node's string ends with.
    int32_t longest;   // The longest token that this node's string ends with; -1 if there is none.
  };
  void link_nodes();

  Array<Token> tokens_;
  Array<char> backwards_;  // The tokens' names, spelt backwards, one after the other. Freed by finish().
  TokenTrie trie_;
  Array<Link> links_;  // One link for each node.
};

}  // namespace LINFORMER_NAMESPACE
