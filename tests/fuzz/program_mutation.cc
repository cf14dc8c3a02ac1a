#include "fuzz/program_mutation.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace linformer_fuzz {
namespace {

// Commands, options and values, each of which ends with a bar.
constexpr std::string_view words =
    "classify|encode|embed|fill-mask|tag|answer|rerank|search|perplexity|tokenize|inspect|spectrum|"
    "words.lnfr|vectors.lnfr|full.lnfr|answers.lnfr|"
    "in.jsonl|in.csv|in.tsv|in.txt|in.npy|in.json|in.jsonl.gz|out.npy|out.txt|-|--|--input|-i|--format|auto|"
    "text|jsonl|csv|tsv|fasttext|--whole-files|--field|--pair|--id|--delimiter|;|--no-header|--max-line-bytes|--"
    "threads|--batch|"
    "--max-tokens|--pad-to|--backend|native|openblas|--isa|scalar|avx2|automatic|--padding|keep|strip|"
    "--profile|--side|head|tail|--literal-special|--on-long|truncate|error|window|--overlap|--truncation|"
    "longest_first|only_first|only_second|none|--vectors|--ids|--head|sentiment|topic|relevance|squashed|mood|"
    "better_by|better|words|--all-heads|--top-k|--output-format|--keep|all|text,label|--quiet|--verbose|--threshold|--"
    "json|--table|--fail-fast|--eval|label|"
    "--query|--queries|--query-field|q.txt|--top-n|--raw|--similarity|dot|cosine|--zero-shot|good,bad|--hypothesis|a "
    "{} .|"
    "--multi-label|--sparse|--dimensions|--prompt|entities|answers|"
    "--question|--question-field|--aggregation|simple|average|--words|--max-answer-tokens|--no-answer|"
    "--label-separator|,|--records|--logits|--what|hidden|pooled|logits|mlm|embedding|probabilities|-o|"
    "--output|--pair-text|--pooling|first|mean|max|--normalize|--no-normalize|--limit|--mode|pseudo|"
    "both|--mask-rate|0.5|--seed|--mask-id|--dump-masks|--tokenizer|tokenizer.json|--no-special|"
    "--tensors|--verify|--memory|--plan|--apart|--rank|--share|--csv|--svg|--html|"
    "0|1|2|3|12|4096|65536|16777216|-1|1e9|--help|--version|good bad film|[MASK]|a [MASK] film|";

// Returns one of the words.
std::string word(Random& random) {
  const size_t begin = words.rfind('|', random.below(words.size()));
  const size_t first = begin == words.npos ? 0 : begin + 1;
  return std::string(words.substr(first, words.find('|', first) - first));
}

}  // namespace

std::string altered_arguments(const std::string& text, Random& random) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  for (size_t i = random.below(3) + 1; i > 0; --i) {
    if (lines.empty()) lines.push_back(word(random));
    const size_t at = random.below(lines.size());
    const auto place = lines.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(7)) {
      case 0:
        lines.erase(place);
        break;
      case 1:
        std::swap(*place, random.one_of(lines));
        break;
      case 2:
        mutate_bytes(&*place, place->size() + 16);
        break;
      case 3:
        *place = word(random);
        break;
      case 4:
        lines.insert(place, *place);
        break;
      default:
        lines.insert(place + 1, word(random));
    }
  }
  std::string changed;
  for (const std::string& line : lines) changed += line + "\n";
  return changed;
}

std::string altered_records(const std::string& text, size_t most, Random& random) {
  std::string changed = text;
  if (random.one_in(4) && !text.empty()) {  // Repeats a piece, which may contain separators of records.
    const size_t begin = random.below(text.size());
    const std::string piece = text.substr(begin, random.below(60) + 1);
    for (size_t i = random.below(40); i > 0 && changed.size() + piece.size() < most; --i) changed.insert(begin, piece);
    return changed;
  }
  mutate_bytes(&changed, most);
  return changed;
}

}  // namespace linformer_fuzz
