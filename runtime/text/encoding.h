// The state of an Encoding: the result of the last call, and the workspace that calls reuse.
#pragma once

#include "base/array.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/pieces.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

namespace LINFORMER_NAMESPACE {

struct Encoding::State {
  Array<int32_t> ids;
  Array<Offset> offsets;
  Array<uint8_t> special_mask, type_ids;
  Array<int8_t> sequence_ids;
  Array<char> names;
  Array<size_t> name_ends;  // Empty unless the caller asked for token strings.
  bool truncated = false;
  int64_t total_tokens = 0;

  Pieces pieces[2];
  FoundTokens verbatim, normalized;  // The added tokens of the text, and of a normalised part of it.
  Array<char> repaired;              // The text with its invalid UTF-8 replaced.
  BpeWorkspace bpe;
  WordPieceWorkspace wordpiece;
  UnigramWorkspace unigram;

  void clear_result() {
    ids.clear();
    offsets.clear();
    special_mask.clear();
    type_ids.clear();
    sequence_ids.clear();
    names.clear();
    name_ends.clear();
    truncated = false;
    total_tokens = 0;
  }
};

}  // namespace LINFORMER_NAMESPACE
