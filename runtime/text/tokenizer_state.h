// The state of a Tokenizer.
#pragma once

#include "base/array.h"
#include "base/description.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"
#include "text/added_tokens.h"
#include "text/bert_normalizer.h"
#include "text/bpe.h"
#include "text/normalizer_steps.h"
#include "text/unigram.h"
#include "text/vocabulary.h"
#include "text/wordpiece.h"

namespace LINFORMER_NAMESPACE {

struct Tokenizer::State {
  std::shared_ptr<const void> storage;  // Owns the memory of the description's views; null if the caller owns it.
  TokenizerKind kind = TokenizerKind::none;
  Vocabulary vocabulary;
  Bpe bpe;
  NormalizerSteps bpe_steps;
  bool bpe_normalizes = false;   // There are normaliser steps, or BPE begins with characters.
  bool bpe_keeps_ascii = false;  // The normaliser steps leave ASCII unchanged.
  PieceDecoding bpe_decoding;
  WordPiece wordpiece;
  BertNormalizer normalizer;
  Unigram unigram;
  AddedTokens verbatim_tokens;    // Looked for in the original text.
  AddedTokens normalized_tokens;  // Normalised, and looked for in the normalised text.
  Array<int32_t> single_template, pair_template;
  Array<uint8_t> pair_types;
  Array<char> continuing_prefix;
  bool trim_offsets = false;
  bool keeps_first_space = false;  // Used if trim_offsets is true.

  Status create(const TokenizerDescription& description, bool always_match_mask);
  Status tokenize(std::string_view text, const EncodeOptions& options, Encoding::State* encoding, Pieces* pieces) const;
  // The pieces of a text that truncation keeps: [begin, end).
  struct Kept {
    size_t begin, end;
  };
  // Fills `encoding` with the template and the kept pieces of the texts.
  Status assemble(bool pair, const Kept* kept, const EncodeOptions& options, Encoding::State* encoding) const;

 private:
  Status copy_templates(const TokenizerDescription& description);
  Status create_bpe(const TokenizerDescription& description, uint64_t owner);
  bool normalizes() const { return kind != TokenizerKind::byte_bpe || bpe_normalizes; }
  bool is_bpe() const { return kind == TokenizerKind::byte_bpe || kind == TokenizerKind::bpe; }
  bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;
  bool tokenize_plain(std::string_view text, uint32_t position, bool match_special, Encoding::State* encoding,
                      Pieces* pieces) const;
  void drop_pieces_without_id(Pieces* pieces) const;
  bool append_text(const Pieces& pieces, Kept kept, int8_t sequence, uint8_t type, const EncodeOptions& options,
                   Encoding::State* encoding) const;
  bool append_name(const Pieces& pieces, const Piece& piece, Encoding::State* encoding) const;
  Offset trimmed_offset(const Pieces& pieces, const Piece& piece, bool first) const;
};

}  // namespace LINFORMER_NAMESPACE
