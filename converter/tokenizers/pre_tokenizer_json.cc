// Reads the pre-tokenizers of tokenizer.json.
#include <algorithm>
#include <vector>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/tokenizer_json.h"
#include "text/space_marks.h"
#include "text/splitter.h"
#include "text/word_patterns.h"

namespace linformer::convert {
namespace {

// Appends the pre-tokenizer to `parts`. If it is a Sequence, appends its members, and the members of nested Sequences.
void flatten(const JsonPart& part, int depth, std::vector<JsonPart>* parts) {
  if (part.null()) return;
  if (depth > 8) part.fail_here("is nested too deeply");
  if (part.type() != "Sequence") {
    if (parts->size() >= max_splits)
      part.fail_here("is one pre-tokenizer too many: at most ", max_splits, " are supported");
    parts->push_back(part);
    return;
  }
  const JsonPart list = part.at("pretokenizers");
  list.need_array();
  for (size_t i = 0; i < list.size(); ++i) flatten(list.at(i), depth + 1, parts);
}

SplitBehavior read_behavior(const JsonPart& part) {
  static constexpr struct {
    const char* name;
    SplitBehavior behavior;
  } behaviors[] = {{"Isolated", SplitBehavior::isolated},
                   {"Removed", SplitBehavior::removed},
                   {"MergedWithPrevious", SplitBehavior::merged_with_previous},
                   {"MergedWithNext", SplitBehavior::merged_with_next},
                   {"Contiguous", SplitBehavior::contiguous}};
  const std::string name = part.text();
  for (const auto& known : behaviors) {
    if (name == known.name) return known.behavior;
  }
  part.fail_here("(", quote(name), ") must be Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous");
}

// Sets `kind` to the known expression (text/word_patterns.h) that equals `expression`. Returns false if there is none.
bool find_expression(std::string_view expression, SplitKind* kind) {
  for (int i = 0; is_word_pattern(static_cast<SplitKind>(i)); ++i) {
    *kind = static_cast<SplitKind>(i);
    if (expression == regular_expression_of(*kind)) return true;
  }
  return false;
}

void read_split(const JsonPart& part, TokenizerRules* rules) {
  const JsonPart pattern = part.at("pattern");
  const SplitBehavior behavior = read_behavior(part.at("behavior"));
  const bool invert = part.at("invert").boolean(false);
  SplitStep step;
  const bool plain = !pattern.at("String").null();
  const std::string text = plain ? pattern.at("String").text() : pattern.at("Regex").text();
  if (!plain && find_expression(text, &step.kind)) {
    // The matches of a known expression cover the whole text. So "Isolated" and "Removed" with `invert` give the same
    // parts: the matches.
    if (behavior != SplitBehavior::isolated && !(behavior == SplitBehavior::removed && invert)) {
      part.at("behavior").fail_here("is not supported for this expression: Isolated, and Removed with invert, are");
    }
    rules->splits.push_back(std::move(step));
    return;
  }
  if (!plain && text.find_first_of("\\^$.|?*+()[]{}") != std::string::npos) {
    pattern.fail_here("(", quote(text), ") is an expression that is not supported: plain texts and those of GPT-2, ",
                      "cl100k (Llama 3), o200k, Qwen 2, Qwen 3.5 and Tekken are");
  }
  if (invert) part.at("invert").fail_here("true is not supported for a pattern that is plain text");
  if (text.empty() || text.size() > max_split_pattern_bytes) {
    pattern.fail_here("has ", text.size(), " bytes; 1 to ", max_split_pattern_bytes, " are supported");
  }
  step.kind = SplitKind::text;
  step.behavior = behavior;
  step.pattern = text;
  rules->splits.push_back(std::move(step));
}

void add_split(SplitKind kind, SplitBehavior behavior, TokenizerRules* rules) {
  SplitStep step;
  step.kind = kind;
  step.behavior = behavior;
  rules->splits.push_back(std::move(step));
}

void read_metaspace(const JsonPart& part, TokenizerRules* rules) {
  if (part.at("replacement").text() != space_mark) part.at("replacement").fail_here("must be U+2581");
  rules->mark_spaces = true;
  rules->split_words = part.at("split").boolean(true);
  const bool prefixed = part.at("add_prefix_space").boolean(true);
  const JsonPart scheme = part.at("prepend_scheme");
  const std::string name = scheme.null() ? (prefixed ? "always" : "never") : scheme.text();
  if (!prefixed && name != "never")
    scheme.fail_here("(", quote(name), ") contradicts add_prefix_space, which is false");
  if (name == "always") {
    rules->prefix_mark = PrefixMark::always;
  } else if (name == "first") {
    rules->prefix_mark = PrefixMark::first;
  } else if (name == "never") {
    rules->prefix_mark = PrefixMark::never;
  } else {
    scheme.fail_here("(", quote(name), ") must be always, first or never");
  }
}

}  // namespace

PreTokenizerEnd read_pre_tokenizer(const JsonPart& part, OwnedTokenizer* tokenizer) {
  TokenizerRules& rules = tokenizer->description.rules;
  std::vector<JsonPart> parts;
  flatten(part, 0, &parts);
  PreTokenizerEnd end = PreTokenizerEnd::none;
  for (const JsonPart& step : parts) {
    const std::string type = step.type();
    if (end != PreTokenizerEnd::none) {
      step.fail_here("(", quote(type), ") stands behind ", end == PreTokenizerEnd::bytes ? "ByteLevel" : "Metaspace",
                     ", which is not supported: put it before that");
    }
    if (type == "Split") {
      read_split(step, &rules);
    } else if (type == "Digits") {
      const bool each = step.at("individual_digits").boolean(false);
      add_split(SplitKind::digits, each ? SplitBehavior::isolated : SplitBehavior::contiguous, &rules);
    } else if (type == "Punctuation") {
      const JsonPart behavior = step.at("behavior");
      add_split(SplitKind::punctuation, behavior.null() ? SplitBehavior::isolated : read_behavior(behavior), &rules);
    } else if (type == "WhitespaceSplit") {
      if (rules.splits.empty()) {
        rules.split_white_space = true;
      } else {
        add_split(SplitKind::white_space, SplitBehavior::removed, &rules);
      }
    } else if (type == "Metaspace") {
      read_metaspace(step, &rules);
      end = PreTokenizerEnd::marks;
    } else if (type == "ByteLevel") {
      tokenizer->description.add_prefix_space = step.at("add_prefix_space").boolean(true);
      rules.keep_parts = !step.at("use_regex").boolean(true);
      end = PreTokenizerEnd::bytes;
    } else {
      step.fail_here("(", quote(type), ") is not supported before BPE or Unigram: Split, Digits, Punctuation and ",
                     "WhitespaceSplit are, and as the last one ByteLevel (BPE) or Metaspace");
    }
  }
  return end;
}

}  // namespace linformer::convert
