// Makes random texts of words that are in the vocabulary of the sentiment model.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sentiment_model.h"

namespace linformer_test {

// Returns `count` texts of up to `most` words. Some of them are empty.
inline std::vector<std::string> random_sentences(size_t count, size_t most, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> sentences(count);
  for (std::string& sentence : sentences) {
    const size_t words = random() % (most + 1);
    for (size_t i = 0; i < words; ++i) {
      sentence += sentiment_words[5 + random() % (sentiment_words.size() - 5)] + " ";
    }
  }
  return sentences;
}

inline std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace linformer_test
