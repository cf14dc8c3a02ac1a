// Masked words and what a model puts in their place: names of tokens, and how results are shown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answers/output.h"
#include "linformer/mask_filler.h"
#include "linformer/tokenizer.h"
#include "models/job.h"

namespace linformer::cli {

struct FilledMask {
  int64_t position = 0;  // among the text's tokens
  std::vector<MaskCandidate> candidates;
};

// A text with more masks is shown once, with the best of each: a text for each candidate of each mask would grow with
// the square of the text.
inline constexpr size_t max_masks_with_texts = 16;

struct FilledText : Job {
  std::vector<int32_t> ids;
  std::vector<FilledMask> masks;
  bool with_texts() const { return masks.size() <= max_masks_with_texts; }
};

// A tokenizer's words for its mask and for any id.
class MaskNames {
 public:
  // `mask` is the text of the tokenizer's mask token. The tokenizer must outlive this object.
  MaskNames(std::string_view mask, const Tokenizer& tokenizer);

  // How the tokenizer writes its mask, such as [MASK].
  const std::string& mask() const { return mask_; }
  // `text` with <mask> and [MASK] as this tokenizer writes it. One of them that is another of its tokens stays.
  std::string with_own_mask(std::string text) const;
  // The token as text; its number where the vocabulary lacks the id.
  std::string name(int32_t id);
  // Puts its best into each mask of `text`; returns the text.
  std::string fill(FilledText* text);
  // The same text with `candidate` in the place of `mask`.
  std::string with(const MaskCandidate& candidate, const FilledMask& mask, FilledText* text);

 private:
  bool is_token(const std::string& spelling);
  std::optional<std::string> decode(std::span<const int32_t> ids, bool skip_special);

  const Tokenizer& tokenizer_;
  std::string mask_;
  std::vector<std::string> others_;  // spellings that stand for it
  TextBuffer buffer_;
};

// Names and texts are made as they are written: of many masks or candidates they take far more memory than ids.
class FilledWriter {
 public:
  virtual ~FilledWriter() = default;
  virtual void write(FilledText* text) = 0;
  // To be called after the last text.
  virtual void finish() {}
};

// In the formats lines, csv and tsv each candidate is a row. If `numbered` is true, the records have no ids of their
// own and their numbers are printed as ids.
// `width` is the number of columns of the terminal. `names` and `output` must outlive the writer.
std::unique_ptr<FilledWriter> make_filled_writer(OutputFormat format, bool numbered, int width, MaskNames* names,
                                                 OutputStream* output);

}  // namespace linformer::cli
