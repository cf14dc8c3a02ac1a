#include "evaluation/answer_evaluation.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "command_line/display.h"
#include "evaluation/evaluation.h"

namespace linformer::cli {
namespace {

enum class Kind : uint8_t { space, punctuation, word, other };

Kind kind_of(utf8proc_int32_t code) {
  constexpr std::string_view punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  if (code < 0x80 && punctuation.find(static_cast<char>(code)) != std::string_view::npos) return Kind::punctuation;
  if ((code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f) || code == 0x85) return Kind::space;
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return Kind::space;
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Kind::word;
    default:
      return Kind::other;
  }
}

double f1_of(const std::vector<std::string>& truth, const std::vector<std::string>& predicted) {
  if (truth.empty() || predicted.empty()) return truth == predicted ? 1 : 0;
  std::vector<std::string> a = truth, b = predicted, common;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return 2 * static_cast<double>(common.size()) / static_cast<double>(a.size() + b.size());
}

}  // namespace

std::vector<std::string> normalized_words(std::string_view answer) {
  std::vector<std::string> words;
  // `run` has the letters and digits after `word`, without the punctuation among them. At any other character, `run` is
  // appended to `word`; if it is an article, it is dropped instead, and `word` ends.
  std::string word, run;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  const auto end_run = [&] {
    if (run == "a" || run == "an" || run == "the") {
      end_word();
    } else {
      word += run;
    }
    run.clear();
  };
  while (!answer.empty()) {
    utf8proc_int32_t code = -1;
    const utf8proc_ssize_t length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(answer.data()),
                         static_cast<utf8proc_ssize_t>(std::min<size_t>(answer.size(), 4)), &code);
    const std::string_view bytes = answer.substr(0, length > 0 ? static_cast<size_t>(length) : 1);
    answer.remove_prefix(bytes.size());
    const Kind kind = length > 0 ? kind_of(code) : Kind::other;
    if (kind == Kind::punctuation) continue;
    if (kind == Kind::word) {
      utf8proc_uint8_t lower[4];
      run.append(reinterpret_cast<const char*>(lower),
                 static_cast<size_t>(utf8proc_encode_char(utf8proc_tolower(code), lower)));
      continue;
    }
    end_run();
    if (kind == Kind::space) {
      end_word();
    } else {
      word += bytes;
    }
  }
  end_run();
  end_word();
  return words;
}

void AnswerEvaluation::add(const std::vector<std::string>& truths, std::string_view predicted) {
  const std::vector<std::string> words = normalized_words(predicted);
  bool exact = false, none = true;
  double best = 0;
  for (const std::string& truth : truths) {
    const std::vector<std::string> true_words = normalized_words(truth);
    if (true_words.empty()) continue;
    none = false;
    exact = exact || true_words == words;
    best = std::max(best, f1_of(true_words, words));
  }
  if (none) exact = words.empty();
  ++records_;
  correct_ += exact ? 1 : 0;
  f1_sum_ += none ? (exact ? 1 : 0) : best;
}

double AnswerEvaluation::exact_match() const { return ratio(correct_, records_); }
double AnswerEvaluation::f1() const { return f1_sum_ / static_cast<double>(records_); }

std::string AnswerEvaluation::text() const {
  std::string out = "records      " + grouped(records_) + "\n";
  if (errors_ > 0) out += "errors       " + grouped(errors_) + " (left out)\n";
  out += "exact match  " + fixed(exact_match(), 4) + "  (" + grouped(correct_) + " right)\n";
  return out + "F1           " + fixed(f1(), 4) + "\n";
}

nlohmann::ordered_json AnswerEvaluation::json() const {
  return {{"records", records_},
          {"errors", errors_},
          {"correct", correct_},
          {"exact_match", number_or_null(exact_match())},
          {"f1", number_or_null(f1())}};
}

}  // namespace linformer::cli
