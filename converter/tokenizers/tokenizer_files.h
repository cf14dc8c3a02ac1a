// Reads the tokenizer files that accompany checkpoints into a TokenizerDescription.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/readers/budget.h"

namespace linformer::convert {

// The description and the arrays that its views point into.
struct OwnedTokenizer {
  TokenizerDescription description;  // the views in it are not set: ask view()
  std::vector<char> token_bytes;
  std::vector<uint32_t> token_offsets;
  std::vector<int32_t> token_ids;
  std::vector<uint32_t> merges;
  std::vector<float> scores;
  std::vector<double> exact_scores;
  std::vector<uint8_t> charsmap, token_uses;
  Budget budget;                      // of the files that were read
  std::vector<std::string> files;     // paths of those files
  std::vector<std::string> notes;     // sentences for the report: which files were used and why, what was inferred
  std::optional<int64_t> max_length;  // to which tokenizer.json cuts texts; of use to static embeddings alone
  std::string truncation_note;        // for the report of other models
  std::string template_note;  // of what is put around texts; a dictionary replaces it. Last of the notes in the end

  // A description whose views live as long as this object stays where it is and unchanged.
  TokenizerDescription view() const;
};

struct TokenizerFileOptions {
  // For vocab.txt, which does not say it. Unset: do_lower_case of tokenizer_config.json beside it; where that is
  // missing too, lower case unless the vocabulary has a token with a capital letter. The choice is in the notes.
  std::optional<bool> lowercase;
  // fairseq's dict.txt, where it is not beside the GPT-2 files. It renumbers a byte-level BPE vocabulary.
  std::string dictionary;
};

// `path`: one of the files below or a folder with them, tried in this order:
//   tokenizer.json                                    byte-level BPE, WordPiece or Unigram of Hugging Face's tokenizers
//   vocab.json + merges.txt, encoder.json + vocab.bpe  byte-level BPE
//   vocab.txt                                         WordPiece
//   spiece.model, sentencepiece.bpe.model, *.model    SentencePiece unigram
// and with byte-level BPE in GPT-2's numbering (no <s> among its tokens) a dict.txt of fairseq, if there is one.
// Throws Error (converter/readers/error.h) whose sentence names the file, the place and what is wrong or unsupported.
OwnedTokenizer load_tokenizer(const std::string& path, const TokenizerFileOptions& options = {});

}  // namespace linformer::convert
