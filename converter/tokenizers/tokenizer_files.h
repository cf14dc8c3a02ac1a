// Reads the tokenizer files that accompany checkpoints into a TokenizerDescription.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/readers/budget.h"

namespace linformer::convert {

// The description of a tokenizer, together with the arrays that its views point into.
struct OwnedTokenizer {
  TokenizerDescription description;  // Its views are not set; view() returns a description with views.
  std::vector<char> token_bytes;
  std::vector<uint32_t> token_offsets;
  std::vector<int32_t> token_ids;
  std::vector<uint32_t> merges;
  std::vector<float> scores;
  std::vector<double> exact_scores;
  std::vector<uint8_t> charsmap, token_uses;
  Budget budget;                      // The limits for reading the files.
  std::vector<std::string> files;     // The paths of the files that were read.
  std::vector<std::string> notes;     // Sentences for the report: which files were used and why, what was inferred.
  std::optional<int64_t> max_length;  // Where tokenizer.json truncates texts, in tokens. For static embeddings only.
  std::string truncation_note;        // A note about truncation for the report of other models, or empty.
  // A note about the tokens that are put around texts, or empty. A dictionary may replace it before load_tokenizer()
  // appends it to `notes`.
  std::string template_note;

  // Returns a description whose views are valid as long as this object is neither moved nor changed.
  TokenizerDescription view() const;
};

struct TokenizerFileOptions {
  // Whether texts are lowercased. Only for vocab.txt, because that file does not say it. If unset, do_lower_case of the
  // tokenizer_config.json beside it is taken. If that setting is missing too, texts are lowercased unless the
  // vocabulary has a token with a capital letter. A note says what was chosen.
  std::optional<bool> lowercase;
  // The path of fairseq's dict.txt, if it is not in the folder of the tokenizer.
  std::string dictionary;
};

// Reads a tokenizer. `path` is one of the files below or a folder that contains some of them. They are tried in this
// order:
//   tokenizer.json                                    BPE, WordPiece or Unigram of Hugging Face's tokenizers
//   vocab.json + merges.txt, encoder.json + vocab.bpe  byte-level BPE
//   vocab.txt                                         WordPiece
//   spiece.model, sentencepiece.bpe.model, *.model    SentencePiece unigram
// If there is a dict.txt of fairseq, it renumbers SentencePiece models, and byte-level BPE without the tokens <s> and
// </s>, which has GPT-2's ids. Throws Error, which names the file, the place and what is wrong or not supported.
OwnedTokenizer load_tokenizer(const std::string& path, const TokenizerFileOptions& options = {});

}  // namespace linformer::convert
