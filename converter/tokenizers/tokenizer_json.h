// tokenizer.json of Hugging Face's tokenizers library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "converter/readers/error.h"
#include "converter/tokenizers/owned_tokenizer.h"

namespace linformer::convert {

OwnedTokenizer load_tokenizer_json(const std::string& path);

// Access to the document that names the place when something is not as it must be.
class JsonPart {
 public:
  JsonPart(const std::string& file, std::string place, const nlohmann::json& json)
      : file_(file), place_(std::move(place)), json_(json) {}

  const nlohmann::json& json() const { return json_; }
  const std::string& place() const { return place_; }
  bool null() const { return json_.is_null(); }
  size_t size() const { return json_.size(); }

  // The member `name`; a null part when it is absent.
  JsonPart at(const char* name) const;
  JsonPart at(size_t index) const;
  void need_object() const;
  void need_array() const;
  std::string text() const;
  int32_t id() const;
  bool boolean(bool when_absent) const;
  std::string type() const { return at("type").text(); }

  template <class... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) const {
    fail(file_, ": ", place_.empty() ? "the document" : place_, " ", parts...);
  }

 private:
  const std::string& file_;
  std::string place_;
  const nlohmann::json& json_;
};

// The normalizers before BPE and Unigram.
void read_normalizer(const JsonPart& part, OwnedTokenizer* tokenizer);

// With what the pre-tokenizers before BPE and Unigram end: bytes in the printable alphabet, or marks for spaces.
enum class PreTokenizerEnd { none, bytes, marks };
PreTokenizerEnd read_pre_tokenizer(const JsonPart& part, OwnedTokenizer* tokenizer);

// The tokens of model.vocab, an object of tokens and ids.
NamedTokens read_names(const std::string& file, const JsonPart& vocabulary, Budget* budget);

// The BPE model of a tokenizer.json with its normalizer and pre-tokenizer.
void read_bpe(const std::string& file, const JsonPart& root, OwnedTokenizer* tokenizer);

// The post-processor: templates, token types, offsets.
void read_post_processor(const JsonPart& part, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
