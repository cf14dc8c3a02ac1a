// The vocabulary: internal tokens, their ids in the model, and their names.
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
    bool verbatim = false;  // Whether this is the name of an added or special token, not the bytes of an internal one.
    bool special = false;
  };

  // To be called in this order: create(), add_name() for each added token, finish(). The views of `description` must
  // outlive this object. create() checks the views, so that no later access is out of range.
  Status create(const TokenizerDescription& description);
  Status add_name(int32_t id, std::string_view name, bool special);
  Status finish(const TokenizerDescription& description);

  // Returns the model id of the internal token `token`. If the model lacks the token, returns unk, which is -1 if there
  // is no unknown token.
  int32_t model_id(int32_t token) const {
    const int32_t id = token_ids_.empty() ? token : token_ids_[static_cast<size_t>(token)];
    return id >= 0 ? id : unk_;
  }
  int32_t unk() const { return unk_; }
  std::string_view token_bytes(int32_t token) const;

  // Finds the name of a model id. Returns false if no token has the id. The name of an added token that is normalised
  // is its normal form.
  bool name_of(int32_t id, Name* name) const;
  // Finds the name that the vocabulary itself has for a model id, ignoring added tokens. Returns false if the
  // vocabulary lacks the id.
  bool vocabulary_name_of(int32_t id, Name* name) const;

 private:
  struct Named {
    int32_t id;
    uint32_t begin, end;  // In bytes of names_.
    bool special;
  };
  int32_t token_of(int32_t id) const;

  std::span<const char> token_bytes_;
  std::span<const uint32_t> token_offsets_;
  std::span<const int32_t> token_ids_;
  Array<int32_t> tokens_by_id_;  // The tokens that have an id, sorted by it. Used only if token_ids_ isn't empty.
  Array<Named> named_;           // Sorted by id.
  Array<char> names_;
  int32_t unk_ = -1;
};

}  // namespace LINFORMER_NAMESPACE
