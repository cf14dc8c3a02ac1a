// Tests that a model file keeps every part of a unigram tokenizer.
#include <doctest/doctest.h>

#include "base/description.h"
#include "format/same_description.h"
#include "format/tiny_model.h"
#include "linformer/model.h"

namespace linformer_test::unigram_test {

using namespace linformer;

TEST_CASE("a unigram tokenizer is the same after writing and reading") {
  const std::string bytes = "<unk>ab\u2581";
  const std::vector<uint32_t> offsets = {0, 5, 6, 7, 10};
  const std::vector<float> scores = {0, -1, -2.5f, -0.1f};
  const std::vector<double> exact = {0, -1, -2.5, -0.1};
  const std::vector<uint8_t> uses = {1, 0, 2, 0}, charsmap = {4, 0, 0, 0, 1, 2, 3, 4, 0};
  for (bool sentencepiece : {false, true}) {
    TinyModel tiny;
    TokenizerDescription t;
    t.kind = TokenizerKind::unigram;
    t.token_bytes = bytes;
    t.token_offsets = offsets;
    t.scores = scores;
    t.unk = 0;
    t.rules = {.sentencepiece = sentencepiece,
               .steps = {{NormalizerKind::charsmap, {}, {}}, {NormalizerKind::replace, "a", "\u00e9"}},
               .charsmap = charsmap,
               .token_uses = uses,
               .exact_scores = exact,
               .split_white_space = true,
               .mark_spaces = !sentencepiece,
               .split_words = true,
               .prefix_mark = PrefixMark::first,
               .remove_extra_spaces = sentencepiece,
               .mark_behind = sentencepiece,
               .byte_fallback = true,
               .splits = {{SplitKind::o200k, SplitBehavior::isolated, {}},
                          {SplitKind::text, SplitBehavior::merged_with_next, "\u00e9"}},
               .keep_parts = true,
               .fuse_unknown = true,
               .ignore_merges = true};
    tiny.builder.description.tokenizer = t;
    const writer::AlignedBytes file = tiny.builder.serialize();
    const auto model = Model::load(file);
    REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
    CHECK(differing_field(model.value()->description(), tiny.builder.description) == "");
    // The comparison notices each kind of field.
    ModelDescription other = tiny.builder.description;
    other.tokenizer.rules.mark_behind = !sentencepiece;
    CHECK(differing_field(model.value()->description(), other) == "tokenizer.rules.mark_behind");
    other = tiny.builder.description;
    other.tokenizer.rules.steps[1].content = "e";
    CHECK(differing_field(model.value()->description(), other) == "tokenizer.rules.steps[1].content");
    other = tiny.builder.description;
    other.tokenizer.rules.splits[1].behavior = SplitBehavior::removed;
    CHECK(differing_field(model.value()->description(), other) == "tokenizer.rules.splits[1].behavior");
  }
}

}  // namespace linformer_test::unigram_test
