// Reads .model files of SentencePiece, which are protocol-buffer messages. The SentencePiece library is not used,
// because it hides the rules of the normalizer and ends the process on some damaged files.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/text_files.h"
#include "converter/tokenizers/unigram_files.h"
#include "text/charsmap.h"
#include "text/unicode.h"

namespace linformer::convert {
namespace {

enum class PieceType : uint64_t { normal = 1, unknown, control, user_defined, unused, byte };
constexpr const char* model_types[] = {"unigram", "BPE", "word", "char"};

// Iterates over the fields of a protocol-buffer message.
class Message {
 public:
  Message(const std::string& file, std::string_view bytes) : file_(file), left_(bytes) {}

  // Reads the next field. Returns false at the end of the message.
  bool next() {
    if (left_.empty()) return false;
    const uint64_t tag = varint();
    field_ = tag >> 3;
    wire_ = static_cast<int>(tag & 7);
    if (field_ == 0) damaged();
    switch (wire_) {
      case 0:
        number_ = varint();
        break;
      case 1:
        bytes_ = take(8);
        break;
      case 2:
        bytes_ = take(varint());
        break;
      case 5:
        bytes_ = take(4);
        break;
      default:
        damaged();
    }
    return true;
  }
  uint64_t field() const { return field_; }
  uint64_t number() const {
    if (wire_ != 0) damaged();
    return number_;
  }
  std::string_view bytes() const {
    if (wire_ != 2) damaged();
    return bytes_;
  }
  float real() const {
    if (wire_ != 5) damaged();
    float value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    return value;
  }
  [[noreturn]] void damaged() const { fail(file_, " is not a SentencePiece model, or a damaged one"); }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(left_[0]);
      left_.remove_prefix(1);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }
  std::string_view take(uint64_t count) {
    if (count > left_.size()) damaged();
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  const std::string& file_;
  std::string_view left_, bytes_;
  uint64_t field_ = 0, number_ = 0;
  int wire_ = 0;
};

struct Model {
  std::vector<ScoredPiece> pieces;
  std::vector<PieceType> types;
  uint64_t type = 1;
  bool byte_fallback = false, space_behind = false;
  bool add_prefix = true, remove_extra_spaces = true, escape_spaces = true;
  bool denormalizes = false, other_unk_text = false;
  std::string_view charsmap;
};

void read_piece(const std::string& file, Message message, Model* model) {
  ScoredPiece piece = {{}, 0};
  auto type = PieceType::normal;
  while (message.next()) {
    if (message.field() == 1) piece.name = message.bytes();
    if (message.field() == 2) piece.score = double{message.real()};
    if (message.field() == 3) type = static_cast<PieceType>(message.number());
  }
  const size_t id = model->pieces.size();
  if (id + 1 >= max_dimension) fail(file, " has more than ", max_dimension - 1, " pieces");
  if (piece.name.empty()) fail(file, ": piece ", id, " is empty");
  if (!valid_utf8(piece.name)) fail(file, ": piece ", id, " is not valid UTF-8");
  if (!std::isfinite(piece.score)) fail(file, ": piece ", id, " has no finite score");
  if (type < PieceType::normal || type > PieceType::byte) {
    fail(file, ": piece ", id, " (", quote(piece.name), ") is of an unknown type, ", static_cast<uint64_t>(type));
  }
  model->pieces.push_back(std::move(piece));
  model->types.push_back(type);
}

void read_trainer(Message message, Model* model) {
  while (message.next()) {
    if (message.field() == 3) model->type = message.number();
    if (message.field() == 24) model->space_behind = message.number() != 0;
    if (message.field() == 35) model->byte_fallback = message.number() != 0;
    if (message.field() == 44) model->other_unk_text = message.bytes() != " \xE2\x81\x87 ";
  }
}

void read_normalizer(Message message, Model* model) {
  while (message.next()) {
    if (message.field() == 2) model->charsmap = message.bytes();
    if (message.field() == 3) model->add_prefix = message.number() != 0;
    if (message.field() == 4) model->remove_extra_spaces = message.number() != 0;
    if (message.field() == 5) model->escape_spaces = message.number() != 0;
  }
}

Model read_model(const std::string& file, std::string_view bytes) {
  Model model;
  Message message(file, bytes);
  while (message.next()) {
    if (message.field() == 1) read_piece(file, Message(file, message.bytes()), &model);
    if (message.field() == 2) read_trainer(Message(file, message.bytes()), &model);
    if (message.field() == 3) read_normalizer(Message(file, message.bytes()), &model);
    if (message.field() == 5) {
      Model other;
      read_normalizer(Message(file, message.bytes()), &other);
      model.denormalizes = !other.charsmap.empty();
    }
  }
  if (model.pieces.empty()) fail(file, " has no pieces: is it a SentencePiece model?");
  if (model.type < 1 || model.type > std::size(model_types)) fail(file, " is of an unknown model type, ", model.type);
  if (model.type != 1) {
    fail(file, " is a ", model_types[model.type - 1], " model, which is not supported: unigram models are");
  }
  return model;
}

// Stores how the runtime may use each piece, and finds the ids of the special tokens.
void store_types(const std::string& file, const Model& model, OwnedTokenizer* tokenizer) {
  TokenizerDescription& description = tokenizer->description;
  NamedTokens names;
  bool all_normal = true;
  size_t bytes = 0;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const PieceType type = model.types[i];
    const auto id = static_cast<int32_t>(i);
    const std::string& name = model.pieces[i].name;
    if (!names.add(name, id, &tokenizer->budget)) fail(file, " has the piece ", quote(name), " twice");
    if (type == PieceType::unknown) {
      if (description.unk >= 0) fail(file, " has two unknown pieces, ", description.unk, " and ", i);
      description.unk = id;
    }
    bytes += type == PieceType::byte;
    const TokenUse use = type == PieceType::normal         ? TokenUse::normal
                         : type == PieceType::user_defined ? TokenUse::user_defined
                                                           : TokenUse::hidden;
    all_normal = all_normal && use == TokenUse::normal;
    tokenizer->token_uses.push_back(static_cast<uint8_t>(use));
  }
  if (all_normal) tokenizer->token_uses.clear();
  if (description.unk < 0) fail(file, " has no unknown piece");
  if (model.byte_fallback && bytes != 256) fail(file, " has ", bytes, " byte pieces; byte fallback needs 256");
  description.bos = names.find("<s>");
  description.eos = names.find("</s>");
  description.pad = names.find("<pad>");
  description.mask = names.find("<mask>");
}

}  // namespace

OwnedTokenizer load_sentencepiece_model(const std::string& path) {
  OwnedTokenizer tokenizer;
  const std::string bytes = read_text_file(path, &tokenizer.budget);
  const Model model = read_model(path, bytes);
  TokenizerDescription& description = tokenizer.description;
  description.kind = TokenizerKind::unigram;
  store_pieces(model.pieces, &tokenizer);
  store_types(path, model, &tokenizer);
  tokenizer.charsmap.assign(model.charsmap.begin(), model.charsmap.end());
  if (const Status status = Charsmap().create(tokenizer.charsmap); !status.ok()) {
    fail(path, ": the normalizer's rules can't be used: ", status.message());
  }
  TokenizerRules& unigram = description.rules;
  unigram.sentencepiece = true;
  unigram.mark_spaces = model.escape_spaces;
  unigram.prefix_mark = model.add_prefix ? PrefixMark::always : PrefixMark::never;
  unigram.mark_behind = model.space_behind;
  unigram.remove_extra_spaces = model.remove_extra_spaces;
  unigram.byte_fallback = model.byte_fallback;
  tokenizer.notes.push_back("SentencePiece unigram from " + path + ": " + std::to_string(model.pieces.size()) +
                            " pieces");
  tokenizer.template_note = "the file has no template: nothing is put around texts, and ids are those of the file";
  if (model.denormalizes) tokenizer.notes.push_back(path + ": the rules for decoded text are left out");
  if (model.other_unk_text) {
    tokenizer.notes.push_back(path + ": its text for decoded unknown pieces is ignored; U+2047 is used");
  }
  return tokenizer;
}

}  // namespace linformer::convert
