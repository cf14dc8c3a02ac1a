// Makes an Encoding of pieces: puts the template around them, names the tokens and trims offsets.
#include <algorithm>

#include "base/description.h"
#include "text/byte_level.h"
#include "text/encoding.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

bool append_verbatim(std::string_view name, Array<char>* names) { return names->try_append(name.data(), name.size()); }

constexpr uint32_t printable_space = 0x120;  // Stands for a space in the names of byte-level BPE.

// Counts the spaces at the beginning and at the end of a token's name.
void count_spaces(std::string_view name, uint32_t* leading, uint32_t* trailing) {
  bool only_spaces = true;
  *leading = *trailing = 0;
  for (size_t at = 0; at < name.size();) {
    const uint32_t code_point = next_code_point(name.data(), &at);
    if (is_white_space(code_point) || code_point == printable_space) {
      *leading += only_spaces;
      ++*trailing;
    } else {
      only_spaces = false;
      *trailing = 0;
    }
  }
}

}  // namespace

bool Tokenizer::State::append_name(const Pieces& pieces, const Piece& piece, Encoding::State* encoding) const {
  auto& names = encoding->names;
  Vocabulary::Name name;
  if (piece.token >= 0 && vocabulary.model_id(piece.token) != vocabulary.unk()) {
    name.bytes = vocabulary.token_bytes(piece.token);
    name.verbatim = kind != TokenizerKind::byte_bpe;
  } else if (piece.token >= 0 || piece.token == unknown_piece) {
    // The vocabulary's name of the unknown token is preferred, because the name of an added token may be normalised.
    const bool own = normalizes() && vocabulary.vocabulary_name_of(vocabulary.unk(), &name);
    if (!own && !vocabulary.name_of(vocabulary.unk(), &name)) return true;
    name.verbatim = name.verbatim || kind != TokenizerKind::byte_bpe;
  } else {
    const AddedMatch& match = pieces.matches[static_cast<size_t>(~piece.token)];
    name = {{pieces.names.data() + match.name_begin, match.name_end - match.name_begin}, true, false};
  }
  return name.verbatim ? append_verbatim(name.bytes, &names) : append_printable(name.bytes, &names);
}

// Returns the offset of a piece without the spaces at its ends, as RoBERTa's tokenizer has it. A single space at the
// text's beginning may stay (keeps_first_space).
Offset Tokenizer::State::trimmed_offset(const Pieces& pieces, const Piece& piece, bool first) const {
  uint32_t leading = 0, trailing = 0;
  if (piece.token >= 0 && kind != TokenizerKind::byte_bpe) {
    count_spaces(vocabulary.token_bytes(piece.token), &leading, &trailing);
  } else if (piece.token >= 0) {
    const std::string_view bytes = vocabulary.token_bytes(piece.token);
    while (leading < bytes.size() && bytes[leading] == ' ') ++leading;
    while (trailing < bytes.size() && bytes[bytes.size() - 1 - trailing] == ' ') ++trailing;
  } else if (piece.token != unknown_piece) {
    const AddedMatch& match = pieces.matches[static_cast<size_t>(~piece.token)];
    count_spaces({pieces.names.data() + match.name_begin, match.name_end - match.name_begin}, &leading, &trailing);
  }
  Offset offset = {piece.begin, piece.end};
  if (leading == 1 && keeps_first_space && (first || offset.begin == 0)) leading = 0;
  offset.begin = std::min(offset.begin + leading, offset.end);
  if (offset.end >= trailing) offset.end = std::max(offset.end - trailing, offset.begin);
  return offset;
}

bool Tokenizer::State::append_text(const Pieces& pieces, Kept kept, int8_t sequence, uint8_t type,
                                   const EncodeOptions& options, Encoding::State* encoding) const {
  for (size_t i = kept.begin; i < kept.end; ++i) {
    const Piece& piece = pieces.pieces[i];
    int32_t id = vocabulary.unk();
    if (piece.token >= 0) {
      id = vocabulary.model_id(piece.token);
    } else if (piece.token != unknown_piece) {
      id = pieces.matches[static_cast<size_t>(~piece.token)].id;
    }
    const Offset offset =
        trim_offsets ? trimmed_offset(pieces, piece, i == kept.begin) : Offset{piece.begin, piece.end};
    if (!encoding->ids.try_push(id) || !encoding->offsets.try_push(offset) || !encoding->special_mask.try_push(0) ||
        !encoding->type_ids.try_push(type) || !encoding->sequence_ids.try_push(sequence)) {
      return false;
    }
    if (options.token_strings &&
        (!append_name(pieces, piece, encoding) || !encoding->name_ends.try_push(encoding->names.size()))) {
      return false;
    }
  }
  return true;
}

Status Tokenizer::State::assemble(bool pair, const Kept* kept, const EncodeOptions& options,
                                  Encoding::State* encoding) const {
  const Array<int32_t>& items = pair ? pair_template : single_template;
  bool complete = true;
  for (size_t i = 0; i < items.size() && complete; ++i) {
    const uint8_t type = pair && !pair_types.empty() ? pair_types[i] : 0;
    if (items[i] < 0) {
      const int sequence = items[i] == template_first ? 0 : 1;
      complete = append_text(encoding->pieces[sequence], kept[sequence], static_cast<int8_t>(sequence), type, options,
                             encoding);
      continue;
    }
    if (!options.add_special_tokens) continue;
    complete = encoding->ids.try_push(items[i]) && encoding->offsets.try_push({0, 0}) &&
               encoding->special_mask.try_push(1) && encoding->type_ids.try_push(type) &&
               encoding->sequence_ids.try_push(-1);
    if (complete && options.token_strings) {
      Vocabulary::Name name;
      if ((normalizes() && vocabulary.vocabulary_name_of(items[i], &name)) || vocabulary.name_of(items[i], &name)) {
        const bool verbatim = name.verbatim || kind != TokenizerKind::byte_bpe;
        complete =
            verbatim ? append_verbatim(name.bytes, &encoding->names) : append_printable(name.bytes, &encoding->names);
      }
      complete = complete && encoding->name_ends.try_push(encoding->names.size());
    }
  }
  return complete ? Status() : Status::error(Code::out_of_memory, "no memory for the encoding");
}

}  // namespace LINFORMER_NAMESPACE
