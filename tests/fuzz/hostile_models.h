// Small model files that need much memory or time, because their values are each permitted but have a large product, or
// because their merges collide in a hash table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/writer/model_builder.h"

namespace linformer_fuzz {

enum class HostileModel {
  table,          // The sinusoidal positions begin at 2^24, far above the longest text of 32 tokens.
  overflow,       // max_tokens is 2^24 with a head of width 256, and mean pooling compresses nothing (kernel 1).
  overflow_full,  // Like overflow, with full attention instead of pooling.
  masks,          // A masked language model whose texts have up to 4,096 mask tokens.
  prefix,         // The encoder puts a token before each text.
  added,          // An added token of 1,023 times 'a' and a 'b', so a text of 'a' nearly matches at each position.
  flood           // The merges collide in a hash that has no seed.
};
inline constexpr HostileModel hostile_models[] = {
    HostileModel::table,  HostileModel::overflow, HostileModel::overflow_full, HostileModel::masks,
    HostileModel::prefix, HostileModel::added,    HostileModel::flood};
const char* name_of(HostileModel kind);

// A builder of a hostile model, and the arrays that the views in its tokenizer point to.
struct HostileModelFile {
  explicit HostileModelFile(HostileModel kind);
  HostileModelFile(const HostileModelFile&) = delete;
  HostileModelFile& operator=(const HostileModelFile&) = delete;

  linformer::writer::ModelBuilder builder;

 private:
  void add_encoder(HostileModel kind);
  void add_tokenizer(HostileModel kind);
  uint32_t add_token(std::string_view bytes, int32_t id);
  void add_colliding_merges();

  std::string bytes_;
  std::vector<uint32_t> offsets_ = {0}, merges_;
  std::vector<int32_t> ids_;
};

}  // namespace linformer_fuzz
