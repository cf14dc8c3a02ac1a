#include "converter/tokenizers/tokenizer_json.h"

#include <algorithm>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/readers/text_map.h"
#include "converter/tokenizers/text_files.h"
#include "converter/tokenizers/unigram_files.h"
#include "converter/tokenizers/wordpiece_files.h"

namespace linformer::convert {

JsonPart JsonPart::at(const char* name) const {
  static const nlohmann::json nothing;
  const std::string place = place_.empty() ? name : place_ + "." + name;
  if (!json_.is_object()) return {file_, place, nothing};
  const auto found = json_.find(name);
  return {file_, place, found == json_.end() ? nothing : *found};
}

JsonPart JsonPart::at(size_t index) const {
  return {file_, place_ + "[" + std::to_string(index) + "]", json_.at(index)};
}

void JsonPart::need_object() const {
  if (!json_.is_object()) fail_here("must be an object");
}

void JsonPart::need_array() const {
  if (!json_.is_array()) fail_here("must be an array");
}

std::string JsonPart::text() const {
  if (!json_.is_string()) fail_here("must be a string");
  return json_.get<std::string>();
}

int32_t JsonPart::id() const {
  if (!json_.is_number_unsigned() || json_.get<uint64_t>() >= max_dimension) {
    fail_here("must be an id from 0 to ", max_dimension - 1);
  }
  return static_cast<int32_t>(json_.get<uint64_t>());
}

bool JsonPart::boolean(bool when_absent) const {
  if (null()) return when_absent;
  if (!json_.is_boolean()) fail_here("must be true or false");
  return json_.get<bool>();
}

NamedTokens read_names(const std::string& file, const JsonPart& vocabulary, Budget* budget) {
  vocabulary.need_object();
  NamedTokens names;
  for (const auto& [name, id] : vocabulary.json().items()) {
    names.add(name, JsonPart(file, vocabulary.place() + "." + quote(name), id).id(), budget);
  }
  sort_names_by_id(file, &names);
  return names;
}

namespace {

constexpr const char* what_wordpiece_needs =
    "is not supported for WordPiece: the normalizer must be BertNormalizer, and the pre_tokenizer BertPreTokenizer";

// Returns the only member of a Sequence, or a null part if the Sequence is empty. Returns other parts unchanged. Throws
// Error if the Sequence has several members.
JsonPart unwrapped(const JsonPart& part, const char* list) {
  if (part.null() || part.type() != "Sequence") return part;
  const JsonPart parts = part.at(list);
  parts.need_array();
  if (parts.size() == 1) return unwrapped(parts.at(size_t{0}), list);
  if (parts.size() == 0) return part.at("absent");
  part.fail_here("(Sequence of ", parts.size(), ") ", what_wordpiece_needs);
}

std::string model_type(const JsonPart& model) {
  model.need_object();
  if (!model.at("type").null()) return model.type();
  if (!model.at("merges").null()) return "BPE";  // Older files have no type.
  if (!model.at("unk_id").null()) return "Unigram";
  if (!model.at("max_input_chars_per_word").null()) return "WordPiece";
  model.at("type").fail_here("is missing");
}

void read_wordpiece(const std::string& file, const JsonPart& root, OwnedTokenizer* tokenizer) {
  const JsonPart model = root.at("model");
  const JsonPart normalizer = unwrapped(root.at("normalizer"), "normalizers");
  if (!normalizer.null() && normalizer.type() != "BertNormalizer") {
    normalizer.fail_here("(", quote(normalizer.type()), ") ", what_wordpiece_needs);
  }
  const JsonPart pre_tokenizer = unwrapped(root.at("pre_tokenizer"), "pretokenizers");
  if (pre_tokenizer.null() || pre_tokenizer.type() != "BertPreTokenizer") {
    const std::string type = pre_tokenizer.null() ? "none" : quote(pre_tokenizer.type());
    pre_tokenizer.fail_here("(", type, ") ", what_wordpiece_needs);
  }
  const NamedTokens names = read_names(file, model.at("vocab"), &tokenizer->budget);
  store_wordpiece(names, tokenizer);
  TokenizerDescription& description = tokenizer->description;
  if (!normalizer.null()) {
    description.clean_text = normalizer.at("clean_text").boolean(true);
    description.split_cjk = normalizer.at("handle_chinese_chars").boolean(true);
    description.lowercase = normalizer.at("lowercase").boolean(true);
    description.strip_accents = normalizer.at("strip_accents").boolean(description.lowercase);
  }
  const std::string unk = model.at("unk_token").null() ? "[UNK]" : model.at("unk_token").text();
  description.unk = names.find(unk);
  if (description.unk < 0) model.at("unk_token").fail_here("(", quote(unk), ") is not in the vocabulary");
  if (const JsonPart prefix = model.at("continuing_subword_prefix"); !prefix.null()) {
    description.continuing_prefix = prefix.text();
  }
  if (const JsonPart longest = model.at("max_input_chars_per_word"); !longest.null()) {
    description.max_word_characters = static_cast<uint32_t>(longest.id());
  }
}

// The ids of the tokens in model.vocab, which is a list for Unigram and an object for other models.
class VocabularyIds {
 public:
  explicit VocabularyIds(const nlohmann::json& vocabulary) : vocabulary_(vocabulary) {
    if (!vocabulary.is_array()) return;
    for (size_t i = 0; i < vocabulary.size(); ++i) {
      listed_[vocabulary[i][0].get_ref<const std::string&>()] = static_cast<int64_t>(i);
    }
  }
  size_t size() const { return vocabulary_.size(); }
  int64_t largest_plus_one() const {
    auto behind = static_cast<int64_t>(vocabulary_.size());
    for (const auto& id : vocabulary_) {
      if (id.is_number()) behind = std::max(behind, id.get<int64_t>() + 1);
    }
    return behind;
  }
  // Returns -1 for a token that the vocabulary lacks.
  int64_t find(const std::string& token) const {
    if (vocabulary_.is_array()) {
      const auto found = listed_.find(token);
      return found == listed_.end() ? -1 : found->second;
    }
    const auto found = vocabulary_.find(token);
    return found == vocabulary_.end() ? -1 : found->get<int64_t>();
  }

 private:
  const nlohmann::json& vocabulary_;
  ViewMap<int64_t> listed_;
};

// Reads added_tokens. The reference, Hugging Face's tokenizers, numbers added tokens itself and only warns if the file
// gives another id. A token of model.vocab keeps its id, and the other added tokens get the next ids in the order of
// the list. If the ids of model.vocab have gaps, some versions of the reference continue after the largest id, and
// others with the number of tokens. Throws Error unless all versions give a token the id in the file.
void read_added_tokens(const JsonPart& list, const JsonPart& vocabulary, OwnedTokenizer* tokenizer) {
  if (list.null()) return;
  list.need_array();
  const VocabularyIds ids(vocabulary.json());
  int64_t counted = static_cast<int64_t>(ids.size()), following = ids.largest_plus_one();
  TextMap<int32_t> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonPart part = list.at(i);
    part.need_object();
    AddedToken token;
    token.content = part.at("content").text();
    token.id = part.at("id").id();
    token.special = part.at("special").boolean(false);
    token.single_word = part.at("single_word").boolean(false);
    token.strip_left = part.at("lstrip").boolean(false);
    token.strip_right = part.at("rstrip").boolean(false);
    token.normalized = part.at("normalized").boolean(!token.special);
    if (token.content.empty()) continue;  // The reference ignores such a token too.
    const std::string content(token.content);
    tokenizer->budget.charge_memory(2 * (sizeof token + content.size()));
    if (!seen.emplace(content, token.id).second) part.fail_here("names ", quote(content), " a second time");
    const int64_t known = ids.find(content);
    if (known >= 0 && known != token.id) {
      part.fail_here("gives ", quote(content), " another id than model.vocab does");
    }
    if (known < 0 && following != counted) {
      part.fail_here("(", quote(content), ") is not in model.vocab, whose ids have gaps: tokenizers gives it the id ",
                     counted, " or ", following, ", depending on its version. Put it into model.vocab");
    }
    if (known < 0 && token.id != counted) {
      part.fail_here("gives ", quote(content), " the id ", token.id, ", but tokenizers reads it as ", counted,
                     ": give it that id");
    }
    following = std::max<int64_t>(following, token.id + 1);
    counted += known < 0;
    tokenizer->description.added_tokens.push_back(std::move(token));
  }
}

// Finds the pad token and the mask token among the special added tokens. Their names do not follow from the kind of the
// model: MPNet's WordPiece has RoBERTa's names, and ModernBERT's byte-level BPE has BERT's. A special token is
// preferred to a token that is only in the vocabulary, because MPNet's vocabulary also contains BERT's names, which the
// model does not use.
void find_special_tokens(TokenizerDescription* description) {
  const auto find = [&](const char* first, const char* second, int32_t* id) {
    for (const char* name : {first, second}) {
      for (const AddedToken& token : description->added_tokens) {
        if (!token.special || token.content != name) continue;
        *id = token.id;
        return;
      }
    }
  };
  find("<pad>", "[PAD]", &description->pad);
  find("<mask>", "[MASK]", &description->mask);
}

}  // namespace

OwnedTokenizer load_tokenizer_json(const std::string& path) {
  OwnedTokenizer tokenizer;
  const nlohmann::json json = read_json_file(path, &tokenizer.budget);
  const JsonPart root(path, "", json);
  root.need_object();
  const std::string type = model_type(root.at("model"));
  if (type == "BPE") {
    read_bpe(path, root, &tokenizer);
  } else if (type == "WordPiece") {
    read_wordpiece(path, root, &tokenizer);
  } else if (type == "Unigram") {
    read_unigram(path, root, &tokenizer);
  } else {
    root.at("model").fail_here("(", quote(type), ") is not supported: it must be BPE, WordPiece or Unigram");
  }
  read_added_tokens(root.at("added_tokens"), root.at("model").at("vocab"), &tokenizer);
  find_special_tokens(&tokenizer.description);
  read_post_processor(root.at("post_processor"), &tokenizer);
  tokenizer.notes.insert(tokenizer.notes.begin(),
                         (tokenizer.description.kind == TokenizerKind::byte_bpe ? "byte-level BPE" : type) + " from " +
                             path + ": " + std::to_string(tokenizer.token_offsets.size() - 1) + " tokens, " +
                             (type == "BPE" ? std::to_string(tokenizer.merges.size() / 3) + " merges, " : "") +
                             std::to_string(tokenizer.description.added_tokens.size()) + " added tokens");
  const auto ignored = [&path](const char* name) {
    return path + ": " + name + " is ignored; the options of the program decide instead";
  };
  if (const JsonPart truncation = root.at("truncation"); !truncation.null()) {
    truncation.need_object();
    const JsonPart longest = truncation.at("max_length");
    if (longest.json().is_number_unsigned()) tokenizer.max_length = longest.id();
    tokenizer.truncation_note = ignored("truncation");
  }
  if (!root.at("padding").null()) tokenizer.notes.push_back(ignored("padding"));
  return tokenizer;
}

}  // namespace linformer::convert
