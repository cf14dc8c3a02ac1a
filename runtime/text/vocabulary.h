// Internal tokens, the ids that the model knows them by, and their names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

class Vocabulary {
 public:
  struct Name {
    std::string_view bytes;
    bool verbatim = false;  // an added or special token, otherwise bytes of the internal token
    bool special = false;
  };

  // Views of `description` must outlive this. Checks what the views must satisfy for any access to be in range.
  // Then come the added tokens, then finish().
  Status create(const TokenizerDescription& description);
  Status add_name(int32_t id, std::string_view name, bool special);
  Status finish(const TokenizerDescription& description);

  // The model's id of internal token `token`, unk where the model lacks it (-1 when there is no unk either).
  int32_t model_id(int32_t token) const {
    const int32_t id = token_ids_.empty() ? token : token_ids_[static_cast<size_t>(token)];
    return id >= 0 ? id : unk_;
  }
  int32_t unk() const { return unk_; }
  std::string_view token_bytes(int32_t token) const;

  // The name of a model id; false when no token has it. An added token is named as the normaliser leaves it.
  bool name_of(int32_t id, Name* name) const;
  // The same as the vocabulary itself has it, which is how templates name their tokens; false where it lacks the id.
  bool own_name_of(int32_t id, Name* name) const;

 private:
  struct Named {
    int32_t id;
    uint32_t begin, end;  // bytes of names_
    bool special;
  };
  int32_t token_of(int32_t id) const;

  std::span<const char> token_bytes_;
  std::span<const uint32_t> token_offsets_;
  std::span<const int32_t> token_ids_;
  Array<int32_t> tokens_by_id_;  // those with an id, by it; only where token_ids_ is not empty
  Array<Named> named_;           // by id
  Array<char> names_;
  int32_t unk_ = -1;
};

}  // namespace LINFORMER_NAMESPACE
