#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/description.h"
#include "hostile_model/attack.h"

namespace linformer_test::semantic_tokenizer_test {

using namespace linformer;

namespace {

const std::vector<uint32_t> three{0, 1, 2, 4}, falling{0, 3, 2, 4}, late{1, 2, 3, 4}, early{0, 1, 2, 3};
const std::vector<uint32_t> beyond{0, 1, 2, 5};
const std::vector<int32_t> too_large{0, 1, 64}, negative{0, -2, 1}, few{0, 1}, unknown{0, -1, 1};
const std::vector<uint32_t> outside{0, 1, 3}, shrinking{0, 1, 1}, joined{0, 0, 2}, broken{0, 1};
const std::vector<float> finite{0, 1, 2}, unbounded{0, 1, infinity};
const std::vector<uint8_t> uses{0, 1, 2}, unknown_use{0, 0, 3};
const std::vector<double> exact{0, 1, 2}, unbounded_exact{0, infinity, 2};
const std::string text = "abcd", latin = "ab\xe9\x64";

// Gives the model three tokens, "a", "b" and "cd", whose indices are their ids.
TokenizerDescription& three_tokens(ModelDescription& m) {
  TokenizerDescription& t = m.tokenizer;
  t.token_bytes = text;
  t.token_offsets = three;
  t.token_ids = {};
  t.merges = {};
  return t;
}

TokenizerDescription& wordpiece(ModelDescription& m) {
  TokenizerDescription& t = three_tokens(m);
  t.kind = TokenizerKind::wordpiece;
  return t;
}

TokenizerDescription& unigram(ModelDescription& m) {
  TokenizerDescription& t = wordpiece(m);
  t.kind = TokenizerKind::unigram;
  t.scores = finite;
  return t;
}

}  // namespace

TEST_CASE("tokenizers whose tokens contradict themselves or the vocabulary are refused") {
  const Attack attacks[] = {
      {"three tokens", "", [](ModelDescription& m) { three_tokens(m); }},
      {"unknown kind", "tokenizer kind is 5", [](ModelDescription& m) { m.tokenizer.kind = TokenizerKind{5}; }},
      {"none with data", "is none, but", [](ModelDescription& m) { m.tokenizer.kind = TokenizerKind::none; }},
      {"none", "", [](ModelDescription& m) { m.tokenizer = {}; }},
      {"no offsets", "token_offsets has 0 entries", [](ModelDescription& m) { three_tokens(m).token_offsets = {}; }},
      {"offsets of nothing", "token_offsets has 1 entries",
       [](ModelDescription& m) { three_tokens(m).token_offsets = std::span(three).first(1); }},
      {"offsets fall", "fall from 3 to 2", [](ModelDescription& m) { three_tokens(m).token_offsets = falling; }},
      {"offsets begin late", "run from 1 to 4", [](ModelDescription& m) { three_tokens(m).token_offsets = late; }},
      {"offsets end early", "run from 0 to 3", [](ModelDescription& m) { three_tokens(m).token_offsets = early; }},
      {"offsets end beyond", "run from 0 to 5", [](ModelDescription& m) { three_tokens(m).token_offsets = beyond; }},
      {"too few ids", "token_ids has 2 entries", [](ModelDescription& m) { three_tokens(m).token_ids = few; }},
      {"id beyond the vocabulary", "token_ids[2] is 64",
       [](ModelDescription& m) { three_tokens(m).token_ids = too_large; }},
      {"id -2", "token_ids[1] is -2", [](ModelDescription& m) { three_tokens(m).token_ids = negative; }},
      {"id -1", "", [](ModelDescription& m) { three_tokens(m).token_ids = unknown; }},
      {"more tokens than ids", "262 tokens are their own ids", [](ModelDescription& m) { m.tokenizer.token_ids = {}; }},
      {"merge of unknown tokens", "there are 3 tokens", [](ModelDescription& m) { three_tokens(m).merges = outside; }},
      {"merge that shrinks", "joins tokens of 1 and 1 bytes to one of 1",
       [](ModelDescription& m) { three_tokens(m).merges = shrinking; }},
      {"merge that fits", "", [](ModelDescription& m) { three_tokens(m).merges = joined; }},
      {"broken merges", "a multiple of 3", [](ModelDescription& m) { three_tokens(m).merges = broken; }},
      {"merges of wordpiece", "which only byte_bpe and bpe use",
       [](ModelDescription& m) { wordpiece(m).merges = joined; }},
      {"wordpiece", "", [](ModelDescription& m) { wordpiece(m); }},
      {"wordpiece not UTF-8", "of token 2 are not UTF-8",
       [](ModelDescription& m) { wordpiece(m).token_bytes = latin; }},
      {"bytes not UTF-8", "", [](ModelDescription& m) { three_tokens(m).token_bytes = latin; }},
      {"scores of wordpiece", "scores has 3 entries", [](ModelDescription& m) { wordpiece(m).scores = finite; }},
      {"unigram", "",
       [](ModelDescription& m) {
         wordpiece(m).scores = finite;
         m.tokenizer.kind = TokenizerKind::unigram;
       }},
      {"unigram without scores", "scores has 0 entries",
       [](ModelDescription& m) { wordpiece(m).kind = TokenizerKind::unigram; }},
      {"unigram of wordpiece", "tokenizer.rules has data",
       [](ModelDescription& m) { wordpiece(m).rules.steps.resize(1); }},
      {"a normal form before byte-level BPE", "",
       [](ModelDescription& m) {
         m.tokenizer.rules.steps.push_back({NormalizerKind::nfc, {}, {}});
       }},
      {"another step before byte-level BPE", "",
       [](ModelDescription& m) {
         m.tokenizer.rules.steps.push_back({NormalizerKind::lowercase, {}, {}});
       }},
      {"splits of wordpiece", "tokenizer.rules has data",
       [](ModelDescription& m) { wordpiece(m).rules.splits.resize(1); }},
      {"too many splits", "splits has 17 entries", [](ModelDescription& m) { m.tokenizer.rules.splits.resize(17); }},
      {"unknown split", "split kind is 10",
       [](ModelDescription& m) {
         m.tokenizer.rules.splits = {{SplitKind{10}, SplitBehavior::isolated, {}}};
       }},
      {"unknown behavior", "split behavior is 5",
       [](ModelDescription& m) {
         m.tokenizer.rules.splits = {{SplitKind::digits, SplitBehavior{5}, {}}};
       }},
      {"split not UTF-8", "splits[0] has a text of 4 bytes",
       [](ModelDescription& m) {
         m.tokenizer.rules.splits = {{SplitKind::text, SplitBehavior::isolated, latin}};
       }},
      {"exact scores of BPE", "tokenizer.rules has data",
       [](ModelDescription& m) {
         m.tokenizer.rules.ignore_merges = true;
         m.tokenizer.rules.exact_scores = exact;
       }},
      {"unigram's parts", "",
       [](ModelDescription& m) {
         TokenizerRules& u = unigram(m).rules;
         u.steps = {{NormalizerKind::nfc, "a", "b"}};
         u.token_uses = uses;
         u.exact_scores = exact;
       }},
      {"too few uses", "token_uses has 2 entries",
       [](ModelDescription& m) { unigram(m).rules.token_uses = std::span(uses).first(2); }},
      {"unknown use", "token_uses is 3 at token 2",
       [](ModelDescription& m) { unigram(m).rules.token_uses = unknown_use; }},
      {"too few exact scores", "exact_scores has 1 entries",
       [](ModelDescription& m) { unigram(m).rules.exact_scores = std::span(exact).first(1); }},
      {"exact score infinite", "exact_scores has an infinite number or NaN at index 1",
       [](ModelDescription& m) { unigram(m).rules.exact_scores = unbounded_exact; }},
      {"too many steps", "steps has 65 entries", [](ModelDescription& m) { unigram(m).rules.steps.resize(65); }},
      {"unknown step", "normalizer kind is 13",
       [](ModelDescription& m) {
         unigram(m).rules.steps = {{NormalizerKind{13}, {}, {}}};
       }},
      {"step not UTF-8", "steps[0] has a text of 4 bytes",
       [](ModelDescription& m) {
         unigram(m).rules.steps = {{NormalizerKind::replace, "a", latin}};
       }},
      {"unknown prefix", "prefix_mark is 3", [](ModelDescription& m) { unigram(m).rules.prefix_mark = PrefixMark{3}; }},
      {"score infinite", "an infinite number or NaN at index 2",
       [](ModelDescription& m) {
         wordpiece(m).scores = unbounded;
         m.tokenizer.kind = TokenizerKind::unigram;
       }},
  };
  run_attacks("tokens", attacks);
}

TEST_CASE("tokenizers whose ids and templates contradict the vocabulary are refused") {
  const Attack attacks[] = {
      {"unk", "tokenizer.unk is 64", [](ModelDescription& m) { m.tokenizer.unk = 64; }},
      {"bos", "tokenizer.bos is -2", [](ModelDescription& m) { m.tokenizer.bos = -2; }},
      {"eos", "tokenizer.eos is 2147483647", [](ModelDescription& m) { m.tokenizer.eos = 2147483647; }},
      {"pad", "tokenizer.pad is 64", [](ModelDescription& m) { m.tokenizer.pad = 64; }},
      {"mask", "tokenizer.mask is 64", [](ModelDescription& m) { m.tokenizer.mask = 64; }},
      {"added id", "added_tokens[2].id is 64", [](ModelDescription& m) { m.tokenizer.added_tokens[2].id = 64; }},
      {"added id -1", "added_tokens[0].id is -1", [](ModelDescription& m) { m.tokenizer.added_tokens[0].id = -1; }},
      {"added content", "added_tokens[2].content is empty",
       [](ModelDescription& m) { m.tokenizer.added_tokens[2].content.clear(); }},
      {"added not UTF-8", "added_tokens[2].content",
       [](ModelDescription& m) { m.tokenizer.added_tokens[2].content = std::string("\xfe"); }},
      {"template id", "has the id 64",
       [](ModelDescription& m) {
         m.tokenizer.single_template = {-1, 64};
       }},
      {"template id -3", "has the id -3",
       [](ModelDescription& m) {
         m.tokenizer.single_template = {-1, -3};
       }},
      {"template without text", "first text 0",
       [](ModelDescription& m) {
         m.tokenizer.single_template = {0, 2};
       }},
      {"template with two texts", "second 1 times",
       [](ModelDescription& m) {
         m.tokenizer.single_template = {-1, -2};
       }},
      {"text twice", "first text 2",
       [](ModelDescription& m) {
         m.tokenizer.single_template = {-1, -1};
       }},
      {"pair of one", "second 0 times",
       [](ModelDescription& m) {
         m.tokenizer.pair_template = {-1, 2};
       }},
      {"no templates", "",
       [](ModelDescription& m) {
         m.tokenizer.single_template.clear();
         m.tokenizer.pair_template.clear();
       }},
      {"long template", "single_template has 65 entries",
       [](ModelDescription& m) { m.tokenizer.single_template = std::vector<int32_t>(65, 0); }},
      {"pair types", "pair_types has 2 entries",
       [](ModelDescription& m) {
         m.tokenizer.pair_types = {0, 1};
       }},
      {"third type", "has the token type 2", [](ModelDescription& m) { m.tokenizer.pair_types = {0, 0, 0, 0, 2, 0}; }},
      {"prefix not UTF-8", "continuing_prefix",
       [](ModelDescription& m) { m.tokenizer.continuing_prefix = std::string("#\xc3"); }},
      {"words of no characters", "max_word_characters is 0",
       [](ModelDescription& m) { m.tokenizer.max_word_characters = 0; }},
      {"words longer than can be split", "max_word_characters is 1001, 1 to 1000",
       [](ModelDescription& m) { m.tokenizer.max_word_characters = 1001; }},
      {"words without end", "max_word_characters is 4294967295",
       [](ModelDescription& m) { m.tokenizer.max_word_characters = ~0u; }},
  };
  run_attacks("ids and templates", attacks);
}

}  // namespace linformer_test::semantic_tokenizer_test
