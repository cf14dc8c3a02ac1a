#include "support/random_tokenizer.h"

#include <algorithm>

#include "support/chance.h"

namespace linformer_test {

using namespace linformer;

namespace {

constexpr const char* words[] = {"a", "good", "film", "the", "plot", "of", "ing", ",", ".", "e", "l", "o", "t"};

}  // namespace

RandomTokenizer::RandomTokenizer(TokenizerKind kind, uint64_t seed, uint32_t vocabulary, uint32_t token_types,
                                 bool unusual) {
  TokenizerDescription& t = description_;
  t.kind = kind;
  const auto id = [&](uint32_t wanted) { return static_cast<int32_t>(wanted % vocabulary); };
  t.bos = id(0);
  t.pad = id(1);
  t.eos = id(2);
  t.unk = id(3);
  t.mask = id(4);
  switch (kind) {
    case TokenizerKind::none:
      return;
    case TokenizerKind::wordpiece:
      add_wordpiece();
      break;
    case TokenizerKind::byte_bpe:
      add_byte_bpe();
      break;
    case TokenizerKind::unigram:
      add_unigram(seed);
      break;
    case TokenizerKind::bpe:
      add_bpe(seed);
  }
  // If there are more tokens than ids, several tokens have the same id.
  for (size_t i = 0; i + 1 < offsets_.size(); ++i) ids_.push_back(id(5 + static_cast<uint32_t>(i)));
  for (const auto& [content, special] : {std::pair{"[PAD]", t.pad}, std::pair{"[MASK]", t.mask}}) {
    AddedToken token;
    token.content = content;
    token.id = special;
    token.special = true;
    t.added_tokens.push_back(token);
  }
  t.single_template = {t.bos, template_first, t.eos};
  t.pair_template = {t.bos, template_first, t.eos, template_second, t.eos};
  if (token_types > 1) t.pair_types = {0, 0, 0, 1, 1};
  if (unusual) make_unusual(seed, vocabulary, token_types);
  t.token_ids = ids_;
  t.token_bytes = bytes_;
  t.token_offsets = offsets_;
  t.merges = merges_;
  t.scores = scores_;
}

void RandomTokenizer::add_token(const std::string& bytes) {
  bytes_ += bytes;
  offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
}

void RandomTokenizer::add_wordpiece() {
  description_.continuing_prefix = "##";
  description_.lowercase = description_.clean_text = description_.split_cjk = true;
  for (const char* word : words) {
    add_token(word);
    add_token(std::string("##") + word);
  }
}

void RandomTokenizer::add_byte_bpe() {
  for (int byte = 0; byte < 256; ++byte) add_token(std::string(1, static_cast<char>(byte)));
  uint32_t result = 256;
  for (const char* pair : {" t", "ood", "lm"}) {
    // All bytes except the last are one token already: a single byte, or the result of the previous merge.
    const std::string text = pair;
    uint32_t left = static_cast<uint8_t>(text[0]);
    for (size_t i = 1; i < text.size(); ++i) {
      add_token(text.substr(0, i + 1));
      merges_.insert(merges_.end(), {left, static_cast<uint8_t>(text[i]), result});
      left = result++;
    }
  }
}

void RandomTokenizer::add_bpe(uint64_t seed) {
  Chance chance(seed);
  TokenizerRules& rules = description_.rules;
  const auto add = [&](const std::string& token) {
    add_token(token);
    return static_cast<uint32_t>(offsets_.size() - 2);
  };
  const uint32_t mark = add("\u2581"), t = add("t"), h = add("h"), e = add("e");
  for (const char* letter : {"a", "o", "d", "g", "f", "i", "l", "m"}) add(letter);
  const uint32_t marked = add("\u2581t"), th = add("th"), the = add("the");
  merges_ = {mark, t, marked, t, h, th, th, e, the};
  rules.byte_fallback = chance.one_in(2);
  for (int byte = 0; rules.byte_fallback && byte < 256; ++byte) {
    constexpr const char* digits = "0123456789ABCDEF";
    add(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">");
  }
  rules.mark_spaces = true;
  rules.prefix_mark = chance.one_of({PrefixMark::never, PrefixMark::first, PrefixMark::always});
  rules.fuse_unknown = chance.one_in(2);
  rules.ignore_merges = chance.one_in(2);
  if (chance.one_in(2)) rules.splits.push_back({SplitKind::digits, SplitBehavior::contiguous, {}});
  if (chance.one_in(2)) rules.splits.push_back({SplitKind::o200k, SplitBehavior::isolated, {}});
  if (chance.one_in(2)) rules.splits.push_back({SplitKind::text, SplitBehavior::merged_with_previous, "-"});
}

void RandomTokenizer::add_unigram(uint64_t seed) {
  Chance chance(seed);
  TokenizerRules& u = description_.rules;
  const auto add = [&](const std::string& token) {
    add_token(token);
    scores_.push_back(-static_cast<float>(chance.pick(1, 1000)) / 64.f);
  };
  add("\u2581");
  for (const char* word : words) {
    add(word);
    add(std::string("\u2581") + word);
  }
  u.sentencepiece = chance.one_in(2);
  u.mark_spaces = true;
  u.prefix_mark = chance.one_of({PrefixMark::never, PrefixMark::first, PrefixMark::always});
  if (u.sentencepiece) {
    u.remove_extra_spaces = chance.one_in(2);
    return;
  }
  u.split_words = chance.one_in(2);
  for (const NormalizerKind kind : {NormalizerKind::nfkc, NormalizerKind::lowercase, NormalizerKind::strip_accents}) {
    if (chance.one_in(2)) u.steps.push_back({kind, {}, {}});
  }
}

void RandomTokenizer::make_unusual(uint64_t seed, uint32_t vocabulary, uint32_t token_types) {
  Chance chance(~seed);
  TokenizerDescription& t = description_;
  const auto id = [&] { return static_cast<int32_t>(chance.pick(0, vocabulary - 1)); };
  if (chance.one_in(3)) t.single_template.clear();
  if (chance.one_in(3)) {
    t.pair_template.clear();
    t.pair_types.clear();
  } else if (chance.one_in(3)) {
    t.pair_template = {template_second, template_first};
    t.pair_types.clear();
  } else if (token_types > 1 && chance.one_in(2)) {
    std::reverse(t.pair_types.begin(), t.pair_types.end());
  }
  if (chance.one_in(4)) {
    std::vector<int32_t> many(20, id());
    many[chance.pick(0, 19)] = template_first;
    t.single_template = many;
  }
  for (int32_t* special : {&t.unk, &t.bos, &t.eos, &t.pad, &t.mask}) {
    if (chance.one_in(3)) *special = chance.one_in(2) ? -1 : id();
  }
  if (chance.one_in(2)) t.added_tokens.clear();
  for (uint32_t i = chance.one_in(2) ? 0 : chance.pick(1, 40); i > 0; --i) {
    AddedToken token;
    const std::string start = chance.one_in(4) ? " " : words[chance.pick(0, std::size(words) - 1)];
    token.content = start + std::to_string(i);
    token.id = id();
    token.special = chance.one_in(2);
    token.single_word = chance.one_in(2);
    token.strip_left = chance.one_in(2);
    token.strip_right = chance.one_in(2);
    token.normalized = chance.one_in(2);
    t.added_tokens.push_back(token);
  }
  for (int32_t& token : ids_) {
    if (chance.one_in(4)) token = -1;
  }
  if (chance.one_in(4)) {
    add_token("");
    ids_.push_back(-1);
    if (t.kind == TokenizerKind::unigram) scores_.push_back(0);
  }
  t.add_prefix_space = chance.one_in(2);
  t.trim_offsets = chance.one_in(2);
  t.max_word_characters = chance.one_of({1u, 3u, 100u, 1000u});
  if (chance.one_in(3)) t.continuing_prefix = chance.one_in(2) ? "" : "\u00e9\u4e2d";
  t.lowercase = chance.one_in(2);
  t.strip_accents = chance.one_in(2);
  t.clean_text = chance.one_in(2);
  t.split_cjk = chance.one_in(2);
}

}  // namespace linformer_test
