// Masked words and what a model puts in their place: names of tokens, and how results are shown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linformer/tokenizer.h"
#include "output.h"
#include "pipeline.h"

namespace linformer::cli {

struct Candidate {
  int32_t id = -1;
  std::string token;
  float probability = 0;
  std::string text;  // the whole text with it, the other masks filled with their best
};

struct FilledMask {
  int64_t position = 0;  // among the text's tokens
  std::vector<Candidate> candidates;
};

struct FilledText : Job {
  std::vector<int32_t> ids;
  std::vector<FilledMask> masks;
};

// A tokenizer's words for its mask and for any id.
class MaskNames {
 public:
  // Both must outlive this.
  MaskNames(const TokenizerDescription& description, const Tokenizer& tokenizer);

  // How the tokenizer writes its mask, such as [MASK].
  const std::string& mask() const { return mask_; }
  // `text` with <mask> and [MASK] as this tokenizer writes it. One of them that is another of its tokens stays.
  std::string with_own_mask(std::string text) const;
  // The token as text; its number where the vocabulary lacks the id.
  std::string name(int32_t id);
  // Sets Candidate::text.
  void fill(FilledText* text);

 private:
  std::optional<std::string> decode(std::span<const int32_t> ids, bool skip_special);

  const Tokenizer& tokenizer_;
  std::string mask_;
  std::vector<std::string> others_;  // spellings that stand for it
  TextBuffer buffer_;
};

class FilledWriter {
 public:
  virtual ~FilledWriter() = default;
  virtual void write(const FilledText& text) = 0;
};

enum class FilledStyle { json, tsv, table };

// `numbered`: ids are the records' numbers. `width`: columns of the terminal.
std::unique_ptr<FilledWriter> make_filled_writer(FilledStyle style, bool numbered, int width, Output* output);

}  // namespace linformer::cli
