// The answers of `linformer fill-mask`: the candidates for each mask of a text, the names of tokens, and writers of
// both.
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
  int64_t position = 0;  // The index of the mask among the text's tokens.
  std::vector<MaskCandidate> candidates;
};

// A text with more masks than this is shown once, with the best candidate in each mask, and not once for each
// candidate. Otherwise the size of the output would grow with the square of the number of masks.
inline constexpr size_t max_masks_with_texts = 16;

struct FilledText : Job {
  std::vector<int32_t> ids;
  std::vector<FilledMask> masks;
  bool shows_text_per_candidate() const { return masks.size() <= max_masks_with_texts; }
};

// Converts between token ids and text, and writes masks as the tokenizer spells them.
class MaskNames {
 public:
  // `mask` is the text of the tokenizer's mask token. The tokenizer must outlive this object.
  MaskNames(std::string_view mask, const Tokenizer& tokenizer);

  // Returns the text of the tokenizer's mask token, such as "[MASK]".
  const std::string& mask() const { return mask_; }
  // Returns `text` with <mask> and [MASK] replaced by mask(). A spelling that is another token of this tokenizer is not
  // replaced.
  std::string normalize_mask_spelling(std::string text) const;
  // Returns the token as text, or "#" and the id if the tokenizer can't decode it.
  std::string token_name(int32_t id);
  // Replaces each mask in `text->ids` by its best candidate and returns the decoded text.
  std::string fill(FilledText* text);
  // Returns the decoded text with `candidate` in the place of `mask`, and with the best candidates in all other masks.
  // fill() must have been called for this text before. The function leaves `text->ids` as it was.
  std::string text_with_candidate(const MaskCandidate& candidate, const FilledMask& mask, FilledText* text);

 private:
  bool is_token(const std::string& spelling);
  std::optional<std::string> decode(std::span<const int32_t> ids, bool skip_special);

  const Tokenizer& tokenizer_;
  std::string mask_;
  std::vector<std::string> others_;  // Other spellings of a mask, which normalize_mask_spelling() replaces.
  TextBuffer buffer_;
};

// Writes the answers. Token ids are decoded only when they are written, because the decoded tokens and texts of many
// candidates would take far more memory than their ids.
class FilledWriter {
 public:
  virtual ~FilledWriter() = default;
  virtual void write(FilledText* text) = 0;
  // Must be called after the last text.
  virtual void finish() {}
};

// In the formats lines, csv and tsv each candidate is a row. If `numbered` is true, the records have no ids of their
// own and their numbers are printed as ids. `width` is the number of columns of the terminal. `names` and `output` must
// outlive the writer.
std::unique_ptr<FilledWriter> make_filled_writer(OutputFormat format, bool numbered, int width, MaskNames* names,
                                                 OutputStream* output);

}  // namespace linformer::cli
