// Reads tokenizer.json of Hugging Face's tokenizers library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "converter/readers/error.h"
#include "converter/tokenizers/owned_tokenizer.h"

namespace linformer::convert {

OwnedTokenizer load_tokenizer_json(const std::string& path);

// A part of the JSON document. It knows its place, so that errors can name it.
class JsonPart {
 public:
  JsonPart(const std::string& file, std::string place, const nlohmann::json& json)
      : file_(file), place_(std::move(place)), json_(json) {}

  const nlohmann::json& json() const { return json_; }
  const std::string& place() const { return place_; }
  bool null() const { return json_.is_null(); }
  size_t size() const { return json_.size(); }

  // Returns the member `name`, or a null part if it is absent.
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

// Reads the normalizers of BPE and Unigram.
void read_normalizer(const JsonPart& part, OwnedTokenizer* tokenizer);

// What the last pre-tokenizer writes: `bytes` in GPT-2's printable alphabet (ByteLevel), `marks`, which are U+2581, in
// place of spaces (Metaspace), or neither.
enum class PreTokenizerEnd { none, bytes, marks };
// Reads the pre-tokenizers of BPE and Unigram.
PreTokenizerEnd read_pre_tokenizer(const JsonPart& part, OwnedTokenizer* tokenizer);

// Reads model.vocab, an object that maps tokens to ids.
NamedTokens read_names(const std::string& file, const JsonPart& vocabulary, Budget* budget);

// Reads the BPE model of a tokenizer.json, with its normalizer and pre-tokenizer.
void read_bpe(const std::string& file, const JsonPart& root, OwnedTokenizer* tokenizer);

// Reads the post-processor, which sets the templates, the token types and whether offsets are trimmed.
void read_post_processor(const JsonPart& part, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
