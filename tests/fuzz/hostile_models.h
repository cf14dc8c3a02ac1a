// Small model files that ask for much: each a product of permitted values, or a collision.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/writer/model_builder.h"

namespace linformer_fuzz {

enum class HostileModel {
  table,          // a table of positions that begins far behind the longest text
  overflow,       // pooling of the longest text that may be, in heads of the greatest width
  overflow_full,  // the same with full attention
  masks,          // long texts of masks
  prefix,         // a token before each text
  added,          // an added token of 1,024 bytes that nearly matches everywhere
  flood           // merges that collide in a hash without a seed
};
inline constexpr HostileModel hostile_models[] = {
    HostileModel::table,  HostileModel::overflow, HostileModel::overflow_full, HostileModel::masks,
    HostileModel::prefix, HostileModel::added,    HostileModel::flood};
const char* name_of(HostileModel kind);

// The builder and the arrays that its tokenizer's views point to.
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
