#include "text/vocabulary.h"

#include <algorithm>

#include "base/description.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status no_memory_for_vocabulary() {
  return Status::error(Code::out_of_memory, "no memory for the tokenizer's vocabulary");
}

}  // namespace

Status Vocabulary::create(const TokenizerDescription& description) {
  token_bytes_ = description.token_bytes;
  token_offsets_ = description.token_offsets;
  token_ids_ = description.token_ids;
  unk_ = description.unk;
  if (token_offsets_.size() < 2 || token_offsets_.size() - 1 > max_dimension) {
    return Status::error(Code::corrupt_file, "the tokenizer has %zu token offsets; it needs 2 to %u",
                         token_offsets_.size(), max_dimension);
  }
  const size_t tokens = token_offsets_.size() - 1;
  for (size_t i = 0; i < tokens; ++i) {
    if (token_offsets_[i] > token_offsets_[i + 1]) {
      return Status::error(Code::corrupt_file, "the tokenizer's token offsets descend at token %zu", i);
    }
  }
  if (token_offsets_[tokens] > token_bytes_.size()) {
    return Status::error(Code::corrupt_file, "the tokenizer's token offsets end at byte %u of %zu",
                         token_offsets_[tokens], token_bytes_.size());
  }
  if (!token_ids_.empty()) {
    if (token_ids_.size() != tokens) {
      return Status::error(Code::corrupt_file, "the tokenizer has %zu tokens but %zu ids", tokens, token_ids_.size());
    }
    const int32_t largest = *std::max_element(token_ids_.begin(), token_ids_.end());
    if (largest >= static_cast<int32_t>(max_dimension)) {
      return Status::error(Code::corrupt_file, "the tokenizer's largest id is %d; ids up to %u are supported", largest,
                           max_dimension - 1);
    }
    // There is no table with an entry for each id, because a hostile file may have a very large id.
    if (!tokens_by_id_.try_reserve(tokens)) return no_memory_for_vocabulary();
    for (size_t token = 0; token < tokens; ++token) {
      if (token_ids_[token] >= 0 && !tokens_by_id_.try_push(static_cast<int32_t>(token)))
        return no_memory_for_vocabulary();
    }
    std::sort(tokens_by_id_.begin(), tokens_by_id_.end(), [this](int32_t a, int32_t b) {
      const int32_t first = token_ids_[static_cast<size_t>(a)], second = token_ids_[static_cast<size_t>(b)];
      return first != second ? first < second : a < b;
    });
  }
  return {};
}

Status Vocabulary::finish(const TokenizerDescription& description) {
  const struct {
    int32_t id;
    const char* name;  // The name if no internal token has the id, as in fairseq's dictionaries.
  } specials[] = {{description.unk, "<unk>"},
                  {description.bos, "<s>"},
                  {description.eos, "</s>"},
                  {description.pad, "<pad>"},
                  {description.mask, "<mask>"}};
  for (const auto& special : specials) {
    if (special.id < 0) continue;
    const int32_t token = token_of(special.id);
    LINFORMER_TRY(add_name(special.id, token >= 0 ? token_bytes(token) : std::string_view(special.name), true));
  }
  std::sort(named_.begin(), named_.end(),
            [](const Named& a, const Named& b) { return a.id != b.id ? a.id < b.id : a.begin < b.begin; });
  return {};
}

Status Vocabulary::add_name(int32_t id, std::string_view name, bool special) {
  const size_t begin = names_.size();
  if (name.size() > UINT32_MAX - begin) return no_memory_for_vocabulary();
  const Named named = {id, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + name.size()), special};
  return names_.try_append(name.data(), name.size()) && named_.try_push(named) ? Status() : no_memory_for_vocabulary();
}

int32_t Vocabulary::token_of(int32_t id) const {
  if (id < 0) return -1;
  if (token_ids_.empty()) return static_cast<size_t>(id) < token_offsets_.size() - 1 ? id : -1;
  const int32_t* token = std::lower_bound(
      tokens_by_id_.begin(), tokens_by_id_.end(), id,
      [this](int32_t entry, int32_t wanted) { return token_ids_[static_cast<size_t>(entry)] < wanted; });
  return token != tokens_by_id_.end() && token_ids_[static_cast<size_t>(*token)] == id ? *token : -1;
}

std::string_view Vocabulary::token_bytes(int32_t token) const {
  const auto i = static_cast<size_t>(token);
  return {token_bytes_.data() + token_offsets_[i], token_offsets_[i + 1] - token_offsets_[i]};
}

bool Vocabulary::name_of(int32_t id, Name* name) const {
  const Named* named = std::lower_bound(named_.begin(), named_.end(), id,
                                        [](const Named& entry, int32_t wanted) { return entry.id < wanted; });
  if (named != named_.end() && named->id == id) {
    *name = {{names_.data() + named->begin, named->end - named->begin}, true, named->special};
    for (; named != named_.end() && named->id == id; ++named) name->special = name->special || named->special;
    return true;
  }
  return vocabulary_name_of(id, name);
}

bool Vocabulary::vocabulary_name_of(int32_t id, Name* name) const {
  const int32_t token = token_of(id);
  if (token < 0) return false;
  *name = {token_bytes(token), false, false};
  return true;
}

}  // namespace LINFORMER_NAMESPACE
